"""What macros call: the adapter's capabilities, each as ``adapter.<name>``."""
