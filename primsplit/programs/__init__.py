"""Programs: what users call, save and differentiate, traced from functions or loaded from models."""
