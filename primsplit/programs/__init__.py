"""What a traced function or a loaded model is for its user, and the transforms as they are called on arrays."""
