#!/usr/bin/env bash
# One call on a GPU machine, with build/carry beside the repository (carry.py makes it):
#     bash papers/cns2025/generated/h200.sh 1        pipeline, tokens, encoders, classifiers            about 8 minutes
#     bash papers/cns2025/generated/h200.sh 2        sliders, benchmark, filter, and what needs both     about 8 minutes
#     bash papers/cns2025/generated/h200.sh 3        diffusion classifier, real shifts, fine-tuning      about 7 minutes
# A part that is done is not done again, and one that a later part needs is done first where what it left is gone; so a
# call that ran out of time is repeated, and the third does whatever the second left. Weights, images and tables come
# back in $OUT, eight files. On a machine that has been given back since, they are taken from build/carry. TINY=1 tries a
# call on a CPU.
set -euo pipefail
cd "$(dirname "$0")/../../.."
first=pipeline,tokens,encoders,classifiers
second=sliders,benchmark,filter,stages,drops,gap,speed,ways
third=diffusion,oodcv,fewer,combination,tuning,targets
case "${1:-all}" in
1) parts=$first ;;
2) parts=$first,$second ;;
3 | all) parts=$first,$second,$third ;;
*) parts=$1 ;;
esac
work=${WORK:-build/generated} data=build/data carry=build/carry python=${PYTHON:-python3}
mkdir -p "$work" "$data"
export PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
if ! "$python" -c 'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, ("diffusers", "pydantic", "tomli_w"))))'; then
    [ -d build/site ] || tar -xJf "$carry/site.tar.xz" -C build
    export PYTHONPATH=$PYTHONPATH:build/site
fi
"$python" - "$carry" "$data" <<'UNPACK'
import lzma, pathlib, sys
carry, data = map(pathlib.Path, sys.argv[1:])
for file in carry.glob("*/*.xz"):
    to = data / file.parent.name / file.stem
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists():
        to.write_bytes(lzma.decompress(file.read_bytes()))
UNPACK
for file in "$carry"/*.tgz; do
    [ ! -e "$file" ] || [ -e "$work/$(basename "$file")" ] || cp "$file" "$work/"
done
bring_back() {
    tar -czf "$work/tables.tgz" -C "$work" tables
    [ -z "${OUT:-}" ] || cp "$work"/*.tgz "$OUT/"
}
trap bring_back EXIT
timeout "${SECONDS_AT_MOST:-575}" "$python" papers/cns2025/generated/run.py "$work" --data "$data" --parts "$parts" \
    --limit "${LIMIT:-550}" ${TINY:+--tiny}
