"""What the documentation site holds besides docs/: proof notes, measurements and their pictures, changelog.

Pages keep their places in the repository, so that a link that works there works on the site. A link to a file that is
not on the site, such as a module, is left as its words.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
_PATTERNS = ("src/**/*.md", "benchmarks/results/*.md", "benchmarks/results/*.svg", "experiments/results/*.svg")
_ALONE = ("CHANGELOG.md", "CONTRIBUTING.md")
_LINK = re.compile(r"(?<!`)(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_NOTE = re.compile(r"(?<!\[)`(tacit/[\w/]+\.md)`(?!\])")
_LETTERS = ("alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "lambda", "mu", "nu", "rho", "sigma", "tau",
            "phi", "psi", "Delta", "Sigma", "Lambda", "Phi")  # fmt: skip
_SIGNS = {name: f"&{name};" for name in _LETTERS} | {"epsilon": "ε", "phi": "φ"}
_WORD = re.compile(rf"(?<![A-Za-z]/)(?<![\w`.])(?:{'|'.join(_LETTERS)})(?![\w`])")


def on_config(config: Any) -> Any:
    """Add to the navigation what is found: guides in no other place, decisions, proofs, measurements."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    sections = {name: pages for each in config.nav for name, pages in each.items() if isinstance(pages, list)}
    docs = ROOT / "docs"
    sections["Guides"] += [path.name for path in sorted(docs.glob("*.md")) if path.name not in named]
    decisions = [path.relative_to(docs).as_posix() for path in sorted(docs.glob("decisions/*.md"))]
    sections["The project"] += [{"Changelog": "CHANGELOG.md"}, {"Contributing": "CONTRIBUTING.md"}]
    sections["The project"] += [{"Decisions": decisions}]
    sections["Science"] += [{"Proofs": _found("src/**/*.md")}, {"Measurements": _found("benchmarks/results/*.md")}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the files themselves."""
    for name in [name for pattern in _PATTERNS for name in _found(pattern)] + list(_ALONE):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links to where their files are on the site, and write the formulas of proofs as formulas."""
    place = page.file.src_uri
    here = posixpath.dirname(place if _from_root(place) else f"docs/{place}")

    def led(match: re.Match[str]) -> str:
        mark, words, link, part = match.groups()
        target = posixpath.normpath(posixpath.join(here, link))
        target = "index.md" if target == "README.md" else target.removeprefix("docs/")
        if files.get_file_from_path(target) is None:
            return words
        return f"{mark}[{words}]({posixpath.relpath(target, posixpath.dirname(place) or '.')}{part or ''})"

    def proof(match: re.Match[str]) -> str:
        target = f"src/{match[1]}"
        found = files.get_file_from_path(target) is not None
        return f"[{match[0]}]({posixpath.relpath(target, posixpath.dirname(place) or '.')})" if found else match[0]

    linked = _NOTE.sub(proof, _LINK.sub(led, markdown))
    return _as_formulas(linked) if place.startswith("src/") else linked


def _found(pattern: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(pattern))]


def _from_root(place: str) -> bool:
    return place in _ALONE or place.startswith(("src/", "benchmarks/", "experiments/"))


def _as_formulas(note: str) -> str:
    """Write Greek letters, powers, indices and orders as signs; fold the fingerprints away; leave code as it is."""
    prints = re.findall(r"^fingerprint: (.*)$", note, re.MULTILINE)
    text = re.sub(r"^fingerprint: .*\n", "", note, flags=re.MULTILINE)
    pieces = re.split(r"(`[^`\n]*`|^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    pieces[::2] = [_signs(piece) for piece in pieces[::2]]
    proven = "".join(f"    - `{line.rpartition(' ')[0]}`\n" for line in prints)
    return "".join(pieces) + (
        f'\n\n??? note "Proven here, with fingerprints that a test compares"\n{proven}' if prints else ""
    )


def _signs(text: str) -> str:
    text = re.sub(r"(?<=[\w)|])\^(-?\w+|\((?:[^()]|\([^()]*\))*\))", lambda m: f"<sup>{_bare(m[1])}</sup>", text)
    text = re.sub(r"(?<=[A-Za-z|)'])_(\w|\{[^}]*\})(?![\w_])", lambda m: f"<sub>{m[1].strip('{}')}</sub>", text)
    text = _WORD.sub(lambda m: _SIGNS[m[0]], text)
    for words, sign in {"<=": "≤", ">=": "≥", " -> ": " → ", "sqrt(": "√("}.items():
        text = text.replace(words, sign)
    return text


def _bare(power: str) -> str:
    return power[1:-1] if power.startswith("(") and power.endswith(")") else power
