# shellcheck shell=bash disable=SC2154  # variables of ./dev
# What ./dev prepares inside either environment: the Python packages and the native parts.
#
# Needs $repo, $cache, $label (machine or root: what the environment is), $root, inside(), stage() and the like, and die().

# --- Python ----------------------------------------------------------------------------------------------------------

# Sets venv. One per clone (an editable install points to it), environment, Python version and pyproject.toml.
choose_venv() {
  local clone key
  clone=$(sha256sum <<<"$repo" | cut -c1-8)
  key=$({ echo "$label" && python_version && cat "$repo/pyproject.toml"; } | sha256sum | cut -c1-12)
  venv=$cache/venv/$clone-$label-$key
}

# Read from the root's files: starting Python there would cost more than all the rest of a warm start.
python_version() {
  if [ "$label" = root ]; then readlink "$root/usr/bin/python3"; else python3 --version; fi
}

ensure_venv() {
  choose_venv
  venv_is_ready || stage "Python packages (pip install -e .[dev])" python make_venv
}

venv_is_ready() { [ -f "$venv/.complete" ]; }

make_venv() {
  # Also removes those for an older pyproject.toml or Python.
  rm -rf -- "${venv%-*}"-*
  mkdir -p "$cache/venv"
  inside python3 -m venv "$venv"
  inside "$venv/bin/python" -m pip install --progress-bar off -e "${repo}[dev]"
  # Where PYTHONDONTWRITEBYTECODE is set, every command would otherwise compile all of it again.
  inside "$venv/bin/python" -m compileall -q "$repo/src" || true
  touch "$venv/.complete"
}

# --- Native parts ----------------------------------------------------------------------------------------------------

# The native parts are made from these; ninja knows the details.
native_inputs=(CMakeLists.txt native testbed src/rocm_perf_lab/arch src/rocm_perf_lab/__init__.py)

ensure_build() {
  [ -f "$repo/CMakeLists.txt" ] || return 0
  ! build_is_current || return 0
  mkdir -p "$repo/build"
  lock "$repo/build/.lock"
  if [ ! -f "$repo/build/build.ninja" ] || [ "$(cat "$repo/build/.environment" 2>/dev/null)" != "$(environment_id)" ]; then
    stage "Configuring the native parts (cmake)" cmake configure
  fi
  rm -f -- "$repo/build/.built"
  touch "$repo/build/.begun"
  stage_if_slow "Building the native parts (ninja)" build inside ninja -C "$repo/build"
  touch "$repo/build/.built"
}

# Entering the root to ask ninja would cost as much as all the rest of a warm start. Outside of it, the compiler and its headers
# may change as well, so that ninja is asked.
build_is_current() {
  [ "$label" = root ] && [ -f "$repo/build/.built" ] || return 1
  [ "$(<"$repo/build/.environment")" = "$(environment_id)" ] || return 1
  # Changed, added or removed sources; and results that were removed, or put there by somebody else.
  [ -z "$(cd -- "$repo" && find "${native_inputs[@]}" -newer build/.begun ! -name '*.pyc' ! -name __pycache__ -print -quit &&
    find build/bin build/lib build/testbed -maxdepth 0 -newer build/.built)" ]
}

# A build folder made elsewhere (by hand, by another ./dev environment, in a clone that was moved or copied) remembers that
# one's compilers and paths: start it over.
configure() {
  inside cmake --fresh -G Ninja -S "$repo" -B "$repo/build"
  environment_id >"$repo/build/.environment"
}

environment_id() {
  if [ "$label" = root ]; then echo "root $(<"$root/$stamp")"; else echo "machine $(hipcc_folder)"; fi
  echo "$repo"
}
