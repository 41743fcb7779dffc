#!/bin/sh
# A review of what a branch changes, in CI: nobody can be asked, the answer is one JSON object, and the exit code decides.
#
# Needs in PATH: tappet, node, git. In the environment: the key of the model's vendor, and
#   TAPPET_MODEL  the model, for example anthropic/sonnet
#   BASE          what the branch is compared with (default: origin/main)
#   RESULT        where the whole record goes (default: tappet-result.json)
set -eu

# Without a name the first model that can be used answers, and without a key that is the offline stand-in: a green run that reviewed nothing.
: "${TAPPET_MODEL:?name the model, for example anthropic/sonnet}"
result=${RESULT:-tappet-result.json}

# Sessions of this run stay apart from others of the machine, and go with the job.
TAPPET_STATE_DIR=${TAPPET_STATE_DIR:-$(mktemp -d)}
export TAPPET_STATE_DIR

# The folder is not trusted here, and must not be: the branch may be a stranger's, and a trusted folder runs its own plugins. What its agent.config.yaml says to tighten
# counts all the same. The diff is piped in, so the model needs no shell; three tools that only read are all it gets.
code=0
{
  echo 'Review this change. Look into the files around it where you must. Answer with a list of problems, each as path:line and one sentence, the worst first; or with "no problems".'
  echo
  git diff --no-color "${BASE:-origin/main}...HEAD"
} | tappet -p \
  --model "$TAPPET_MODEL" \
  --tools Read,Glob,Grep \
  --permission-mode dontAsk \
  --max-turns 30 --max-budget-usd 2 --timeout 10m \
  --output-format json >"$result" || code=$?

# stdout of tappet is that one object, also where the turn failed; what was denied or went wrong stands on stderr in words.
node - "$result" <<'JS'
const { readFileSync } = require('node:fs');
const text = readFileSync(process.argv[2], 'utf8');
if (text.trim() === '') process.exit(0); // it did not come to a turn: stderr says why
const r = JSON.parse(text);
process.stdout.write(`${r.result ?? r.errors.join('\n')}\n`);
process.stderr.write(`${r.num_turns} requests, ${r.total_cost_usd.toFixed(4)} USD, session ${r.session_id}\n`);
JS

case $code in
  0) ;;
  1) echo 'the turn failed: the model, a limit, or the budget (see above)' >&2 ;;
  2) echo 'a flag or the configuration is wrong (see above)' >&2 ;;
  3) echo 'blocked by policy, a hook, or missing trust (see above)' >&2 ;;
  4) echo 'the model cannot be reached' >&2 ;;
  5) echo 'it took too long' >&2 ;;
esac
exit "$code"
