"""What scripts/install and scripts/debian-package make, as man, dpkg and shells see it."""
import gzip
import os
import pathlib
import subprocess

import pytest

from radios import AMBIT

ROOT = pathlib.Path(__file__).parent.parent
PROGRAMS = pathlib.Path(AMBIT).parent


def run(*command, **options):
    process = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert process.returncode == 0, f"{command}: {process.stdout}{process.stderr}"
    return process.stdout


@pytest.fixture
def prefix(tmp_path):
    """A prefix with all files, of programs that are built already."""
    if not (PROGRAMS / "ambit-page").exists():
        pytest.skip(f"ambit-page is not in {PROGRAMS}")
    folder = tmp_path / "a prefix"
    run(ROOT / "scripts/install", "--programs", PROGRAMS, "--prefix", folder)
    return folder


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_installed_programs_run_and_nothing_is_left_of_them(prefix, tmp_path):
    (prefix / "bin" / "other").write_text("not of Ambit")
    assert "ambit" in run(prefix / "bin/ambit", "--help")
    # The page and the hub are programs beside it.
    assert "--trusted-proxy" in run(prefix / "bin/ambit-page", "--help")
    assert "ambit hub run" in run(prefix / "bin/ambit-hub", "--help")
    with subprocess.Popen(
        [prefix / "bin/ambit", "hub", "--radio", "sim:empty", "--socket", tmp_path / "hub", "--no-network", "--json"],
        stdout=subprocess.PIPE, text=True) as hub:
        assert '"serving"' in hub.stdout.readline()
        hub.terminate()
    assert hub.returncode == -15
    before = files(prefix)
    run(ROOT / "scripts/install", "--programs", PROGRAMS, "--prefix", prefix)
    assert files(prefix) == before
    run(ROOT / "scripts/install", "--prefix", prefix, "--uninstall")
    assert files(prefix) == {"bin/other"}
    again = subprocess.run([ROOT / "scripts/install", "--prefix", prefix, "--uninstall"], capture_output=True)
    assert again.returncode == 1 and b"Nothing of Ambit" in again.stderr


def test_a_file_of_a_former_version_is_removed(prefix):
    former = prefix / "share/man/man1/ambit-former.1"
    former.write_text("")
    with (prefix / "share/ambit/installed-files").open("a") as list:
        list.write("share/man/man1/ambit-former.1\n")
    run(ROOT / "scripts/install", "--programs", PROGRAMS, "--prefix", prefix)
    assert not former.exists()


def test_every_command_has_a_page_that_groff_takes_without_a_warning(prefix):
    pages = prefix / "share/man/man1"
    help = run(prefix / "bin/ambit", "--help")
    commands = [line.split()[0] for line in help.split("SUBCOMMANDS:")[1].splitlines()
                if line.startswith("  ") and line[2] != " " and not line.startswith("  See")]
    assert len(commands) > 20
    for name in commands:
        assert (pages / f"ambit-{name}.1").exists(), name
    assert (pages / "ambit-hub-status.1").exists()
    for page in sorted(pages.iterdir()):
        process = subprocess.run(
            ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
        assert (process.returncode, process.stderr) == (0, ""), page.name
    text = run("groff", "-man", "-Kutf8", "-Tascii", "-P-cbou", pages / "ambit-scan.1")
    assert "ambit-scan - " in text and "--timeout" in text and "EXAMPLES" in text


def test_commands_that_other_programs_perform_have_the_pages_of_these(tmp_path):
    others = [PROGRAMS / name for name in ("ambit-apps", "ambit-message")]
    if not all(other.exists() for other in others):
        pytest.skip(f"not all programs are in {PROGRAMS}")
    run(ROOT / "scripts/man-pages", AMBIT, tmp_path, *others)
    pages = {page.stem: page.read_text() for page in tmp_path.iterdir()}
    assert "Ctrl\\-Z" in pages["ambit-app-open"] and "until" in pages["ambit-message-send"]
    # The first program installs the service.
    assert "ambit\\-apps\\-install" in pages["ambit-apps"] and "ambit-apps-install" in pages


def test_shells_take_the_completions(prefix):
    bash = prefix / "share/bash-completion/completions/ambit"
    words = run(
        "bash", "-c", 'source "$0"; COMP_WORDS=(ambit sca); COMP_CWORD=1; _ambit ambit sca ambit; echo "${COMPREPLY[@]}"',
        bash, env={**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"})
    assert "scan" in words
    assert "#compdef ambit" in (prefix / "share/zsh/site-functions/_ambit").read_text()
    assert "complete -c ambit" in (prefix / "share/fish/vendor_completions.d/ambit.fish").read_text().replace("'", "")


def test_the_package_names_its_libraries_and_is_removed_as_a_whole(prefix, tmp_path):
    run(ROOT / "scripts/debian-package", "--programs", PROGRAMS, tmp_path)
    (package,) = tmp_path.glob("ambit_*.deb")
    assert "libc6" in run("dpkg-deb", "--field", package, "Depends")
    root = tmp_path / "root"
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/status").touch()
    (root / "var/lib/dpkg/available").touch()
    dpkg = ["dpkg", "--root", root, "--force-not-root", "--force-depends", "--log", "/dev/null"]
    run(*dpkg, "--install", package, env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
    assert "scan" in run(root / "usr/bin/ambit", "--help")
    assert (root / "usr/share/man/man1/ambit.1.gz").exists()
    documents = root / "usr/share/doc/ambit"
    assert "/usr/share/common-licenses/Apache-2.0" in (documents / "copyright").read_text()
    assert "## Unreleased" in gzip.decompress((documents / "NEWS.gz").read_bytes()).decode()
    run("dpkg-parsechangelog", "-l", documents / "changelog.gz")
    run(*dpkg, "--purge", "ambit", env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
    assert not (root / "usr/bin/ambit").exists()
