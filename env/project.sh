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

ensure_build() {
  [ -f "$repo/CMakeLists.txt" ] || return 0
  mkdir -p "$repo/build"
  lock "$repo/build/.lock"
  if [ ! -f "$repo/build/build.ninja" ] || [ "$(cat "$repo/build/.environment" 2>/dev/null)" != "$(environment_id)" ]; then
    stage "Configuring the native parts (cmake)" cmake configure
  fi
  stage_if_slow "Building the native parts (ninja)" build inside ninja -C "$repo/build"
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
