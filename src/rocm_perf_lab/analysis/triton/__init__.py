"""What a report says about kernels in Triton's terms."""
