"""Text of documents: PDF, DOCX, XLSX and PPTX, read in a process that can do nothing else."""
