"""Models behind one seam (base.py): OpenAI-compatible endpoints, the built-in offline analyst, the scripted test
double."""
