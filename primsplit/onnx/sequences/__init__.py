"""Replace sequences and optional values by tensors while a model is loaded.

```
s = SequenceConstruct(a, b);  y = SequenceAt(s, 1)   ->   y = b
```

A sequence that the file lists is its elements; one that a loop builds is a tensor with the elements along axis 0; one
whose elements differ in shape is a row of all numbers and a row of shapes. An optional that is given is its content;
one that only the run knows is a tensor of one row or of none. No derivative rule meets a sequence.
"""
