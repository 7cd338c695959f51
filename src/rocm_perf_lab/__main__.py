"""Entry point of `rocm-perf`, `rocm-perf-lab` and `python -m rocm_perf_lab`."""

from rocm_perf_lab.cli import main

if __name__ == "__main__":
    main()
