"""Search: documents from the mirror, vectors from documents, answers from both."""
