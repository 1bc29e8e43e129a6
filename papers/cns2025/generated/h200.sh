#!/usr/bin/env bash
# One call on a GPU machine, with build/carry beside the repository (carry.py makes it):
#     bash papers/cns2025/generated/h200.sh 1        pipeline, tokens, encoders, classifiers          about 8 minutes
#     bash papers/cns2025/generated/h200.sh 2        sliders, benchmark, filter, and what needs both   about 8 minutes
#     bash papers/cns2025/generated/h200.sh 3        diffusion classifier, real shifts, fine-tuning    about 7 minutes
# A part that is done is not done again, so a call that ran out of time is repeated; `all` does what is left of everything.
# Weights, images and tables come back in $OUT, eight files.
set -euo pipefail
cd "$(dirname "$0")/../../.."
case "${1:-all}" in
1) parts=pipeline,tokens,encoders,classifiers ;;
2) parts=sliders,benchmark,filter,stages,drops,gap,speed,ways ;;
3) parts=diffusion,oodcv,combination,tuning,targets ;;
all) parts=pipeline,tokens,encoders,classifiers,sliders,benchmark,filter,stages,drops,gap,speed,ways,diffusion,oodcv,combination,tuning,targets ;;
*) parts=$1 ;;
esac
work=${WORK:-build/generated} data=build/data carry=build/carry
mkdir -p "$work" "$data"
[ -d build/site ] || tar -xJf "$carry/site.tar.xz" -C build
python3 - "$carry" "$data" <<'UNPACK'
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
export PYTHONPATH=src:build/site PYTHONUNBUFFERED=1
bring_back() {
    tar -czf "$work/tables.tgz" -C "$work" tables
    [ -z "${OUT:-}" ] || cp "$work"/*.tgz "$OUT/"
}
trap bring_back EXIT
timeout "${SECONDS_AT_MOST:-575}" python3 papers/cns2025/generated/run.py "$work" --data "$data" --parts "$parts" \
    --limit "${LIMIT:-550}" ${TINY:+--tiny}
