"""What a model is sent: the steps of a thread as bounded messages. Pure."""
