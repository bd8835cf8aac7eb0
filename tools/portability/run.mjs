// Run a folder made by write.py in onnxruntime-web, the build for browsers, on the processor, and compare.
//
//     npm install onnxruntime-web
//     node tools/portability/run.mjs FOLDER
//
// A line for each file that does not load, fails, or gives other numbers; then a count. Exits with 1 unless all are
// right. onnxruntime-web is looked for from the folder where this is started.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(path.join(process.cwd(), "package.json"));
const ort = await import(pathToFileURL(from.resolve("onnxruntime-web")));
ort.env.wasm.numThreads = 1;

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, bool: Uint8Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array,
};
const TOLERANCES = { float32: 2e-4, float64: 1e-9 };

function decoded({ dtype, bytes }) {
  const buffer = Uint8Array.from(Buffer.from(bytes, "base64")).buffer;
  return new ARRAYS[dtype](buffer);
}

function difference(found, told) {
  if (String(found.dims) !== String(told.shape)) return `has the shape ${found.dims}, not ${told.shape}`;
  const wanted = Array.from(decoded(told), Number);
  const values = Array.from(found.data, Number);
  const largest = Math.max(1, ...wanted.filter(Number.isFinite).map(Math.abs));
  const tolerance = (TOLERANCES[told.dtype] ?? 0) * largest;
  const isRight = (a, b) => Object.is(a, b) || a === b || Math.abs(a - b) <= tolerance;
  const at = wanted.findIndex((w, i) => !isRight(values[i], w));
  return at < 0 ? "" : `is ${values[at]} at ${at}, not ${wanted[at]}`;
}

async function judge(file, told) {
  let session;
  try {
    const options = { executionProviders: ["wasm"], logSeverityLevel: 4, enableMemPattern: false };
    session = await ort.InferenceSession.create(fs.readFileSync(file), options);
  } catch (error) {
    return ["not loaded", String(error).slice(-200)];
  }
  try {
    const feeds = {};
    for (const name of session.inputNames) {
      const input = told.inputs[name];
      feeds[name] = new ort.Tensor(input.dtype, decoded(input), input.shape);
    }
    const outputs = await session.run(feeds);
    for (const name of session.outputNames) {
      const why = difference(outputs[name], told.outputs[name]);
      if (why) return ["wrong", `${name} ${why}`];
    }
    return ["right", ""];
  } catch (error) {
    return ["failed", String(error).slice(-200)];
  } finally {
    await session.release();
  }
}

const folder = process.argv[2];
const verdicts = {};
for (const name of fs.readdirSync(folder).filter((n) => n.endsWith(".onnx")).sort()) {
  const file = path.join(folder, name);
  const told = JSON.parse(fs.readFileSync(file.replace(/onnx$/, "json")));
  const [verdict, why] = await judge(file, told);
  verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  if (verdict !== "right") console.log(`${verdict}: ${name} ${told.name}: ${why.replaceAll("\n", " ")}`);
}
console.log(`onnxruntime-web ${ort.env.versions.web}: ${JSON.stringify(verdicts)}`);
process.exit(Object.keys(verdicts).every((v) => v === "right") ? 0 : 1);
