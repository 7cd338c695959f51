import json

from published_schemas import expect_published
from rocm_perf_lab.errors import UnavailableError


def test_every_missing_part_is_named_with_a_way_to_get_it(rocm_perf, tmp_path):
    environment = {"ROCM_PERF_LAB_NATIVE_DIR": str(tmp_path / "none"), "PATH": "/nowhere", "ROCM_PATH": "/nowhere"}
    done = rocm_perf("doctor", "--json", environment=environment)
    diagnosis = json.loads(done.stdout)
    expect_published("doctor", diagnosis)
    assert done.returncode == UnavailableError.exit_code and not diagnosis["can_profile"]
    missing = {finding["name"]: finding for finding in diagnosis["findings"] if finding["status"] == "missing"}
    assert {"software device", "tracer", "rocpd writer"} <= set(missing)
    assert all(finding["hint"] for finding in missing.values())
    assert str(tmp_path / "none") in missing["tracer"]["detail"] and "cmake" in missing["tracer"]["hint"]


def test_verdict_and_exit_code_agree_on_this_machine(rocm_perf, inert_native):
    done = rocm_perf("doctor", "--json", environment=inert_native)
    diagnosis = json.loads(done.stdout)
    statuses = {finding["name"]: finding["status"] for finding in diagnosis["findings"]}
    assert statuses["tracer"] == statuses["software device"] == "ok"
    assert diagnosis["software"] == (statuses["ROCr model interface"] == "ok")
    assert diagnosis["hardware"] == (statuses["GPU"] == "ok" and statuses["ROCr runtime"] == "ok")
    assert done.returncode == (0 if diagnosis["can_profile"] else UnavailableError.exit_code)


def test_environments_in_which_no_program_could_run_are_detected(rocm_perf, inert_native):
    done = rocm_perf("doctor", "--json", environment=inert_native | {"TMPDIR": "/nonexistent"})
    diagnosis = json.loads(done.stdout)
    (found,) = [finding for finding in diagnosis["findings"] if finding["name"] == "temporary files"]
    assert found["status"] == "missing" and "TMPDIR=/nonexistent" in found["detail"] and "TMPDIR=" in found["hint"]
    assert done.returncode == UnavailableError.exit_code and not diagnosis["can_profile"]


def test_an_old_rocr_is_distinguished_from_one_with_the_model_interface(rocm_perf, inert_native, tmp_path):
    for name, content in {"old": b"\x7fELF no such thing", "new": b"\x7fELF..HSA_MODEL_TOPOLOGY.."}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "libhsa-runtime64.so.1").write_bytes(content)
        environment = inert_native | {"LD_LIBRARY_PATH": str(tmp_path / name)}
        findings = json.loads(rocm_perf("doctor", "--json", environment=environment).stdout)["findings"]
        status = {finding["name"]: finding["status"] for finding in findings}["ROCr model interface"]
        assert status == ("ok" if name == "new" else "missing")
    old = inert_native | {"LD_LIBRARY_PATH": str(tmp_path / "old")}
    done = rocm_perf("profile", "--device", "gfx942", "true", environment=old)
    assert done.returncode == 69 and "7.1" in done.stderr


def test_text_is_plain_when_not_on_a_terminal(rocm_perf):
    done = rocm_perf("doctor")
    assert "\x1b" not in done.stdout and "rocm-perf profile" in done.stdout.splitlines()[-1]
