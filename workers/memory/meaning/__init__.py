"""What threads are about, for a search by meaning: the pieces of a thread, and the arithmetic over their vectors. Pure;
`workers/service/vectors.py` asks the model and the Store."""
