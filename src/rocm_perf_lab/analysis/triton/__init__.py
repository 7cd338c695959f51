"""What a report says of kernels in Triton's terms."""
