/** A mechanism of the pool, and how its source reads without it. */
export interface Ablation {
  readonly name: string;
  /** In `src/gateway/routing/pool`. */
  readonly file: string;
  /** The text is there once. */
  readonly text: string;
  readonly without: string;
  /** The settings in which it can act. */
  readonly at: 'one' | 'past' | 'whole' | 'replicas' | 'routes';
}

const of =
  (at: Ablation['at'], file: string) =>
  (name: string, text: string, without: string): Ablation => ({ name, file, text, without, at });

const pool = of('one', 'pool.ts');
const poolState = of('one', 'pool-state.ts');
const pick = of('one', 'pick.ts');
const speed = of('one', 'speed.ts');
const held = of('one', 'held-blocks.ts');
const state = of('one', 'endpoint-state.ts');
const answers = of('one', 'answer-knowledge.ts');
const prefill = of('one', 'prefill.ts');
const whole = of('whole', 'pool-attempt.ts');
const past = of('past', 'endpoint-state.ts');
const replicas = of('replicas', 'pools.ts');

export const ablations: readonly Ablation[] = [
  pool('an attempt for an endpoint that was passed over', 'mayExplore ? longPassedOver(state, now, asked.among) :', ''),
  poolState('further attempts while it proves faster', '(explored !== undefined || ', '('),
  poolState('further attempts while it does not fail', '&& endpoint.explored?.wasFailing !== true', ''),
  pool('slowness is forgotten without answers', 'if (ageMs === 0 ||', 'if (true ||'),
  pool('attempts that fail count as time', 'if (success === 1)', 'if (true)'),
  pool('at most 10 tries', 'maxTries = 10', 'maxTries = Infinity'),
  pool('now and then as if none failed', 'if (success ** 3 > luck)', 'if (false)'),
  poolState('the unmeasured count as the fastest', '() => state.fastest }', '() => undefined }'),
  pick('work counts for more on a busy pool', 'Math.min(maxBusy, Math.max(0, busy))', '0'),
  pick('at most 0.9 busy', 'maxBusy = 0.9', 'maxBusy = 0.99'),
  pick('answers that become slower', 'slowerShare = 0.1', 'slowerShare = 0'),
  pick('near equals', 'nearShare = 0.5', 'nearShare = 0'),
  pick('chance among equals', 'equalShare = 0.25', 'equalShare = 0'),
  pick('untried ones first', 'untried.length > 0 ? untried : withEqualCost', 'withEqualCost'),
  speed('samples of nothing', 'ofNothing = 5', 'ofNothing = 0'),
  speed('assumed samples no larger than the first', 'minOfAssumed = 1 / 16', 'minOfAssumed = 1'),
  speed('older samples count less once it is faster', 'below: 0.4', 'below: 0'),
  speed('older samples count less once it is slower', 'inRow: 2', 'inRow: Infinity'),
  speed('a sample counts as three times the prediction at most', 'maxFactor = 3', 'maxFactor = Infinity'),
  speed('samples are forgotten', 'memory = 100', 'memory = 1e9'),
  speed('the usual error is learned', 'spread = Math.sqrt(errors / count);', ''),
  held('the size of the cache is learned', 'resize(state, state.capacity * stepFactor ** change);', ''),
  held('reports within 512 tokens change nothing', 'tolerance = 512', 'tolerance = 0'),
  held('a prompt that failed is not held', 'isComputed: (ends[at] ?? 0) <= keptTokens', 'isComputed: true'),
  state('an overdue stream', 'overdueFactor = 3', 'overdueFactor = Infinity'),
  answers('the speed of answers is learned', 'if (tokens > 1) gap.measured', 'if (false) gap.measured'),
  answers('the length of answers is learned', 'lengths.add(now, tokens);', ''),
  state(
    'the first measurement begins at the fastest',
    'if (!state.isMeasured) state.prefill = createPrefill({ ...assumedPrefill, eachMs }, state.evidence);',
    '',
  ),
  prefill('endpoints that work on prompts at once', 'own.value() + pool.value() <= 0', 'true'),
  prefill('what other endpoints work on at once', 'own.value() + pool.value()', '2 * own.value()'),
  whole(
    'answers that do not stream are measured',
    'return measured(endpoint, { ...work, ms: Math.max(',
    'return (() => false)({ ...work, ms: Math.max(',
  ),
  whole('also those that came before they were expected', '&& tookMs >= expectedMs', ''),
  {
    ...whole('unseen prompts count as computed in time', 'prompt !== undefined && prompt.until <= now', 'false'),
    file: 'endpoint-state.ts',
  },
  past('waiting requests of others', 'known + queued * usualTokens.mean(now, assumedTokens)', 'known'),
  past(
    'running requests of others',
    'own.underWay + ofOthers.underWay + running + queued',
    'own.underWay + ofOthers.underWay',
  ),
  { ...past('usual tokens are learned', 'endpoint.usualTokens.add(begunAt, ownTokens);', ''), file: 'pool-attempt.ts' },
  { ...past('slowness is kept while others wait', '&& !knowledge.hasOthersWaiting(now)', ''), file: 'pool-state.ts' },
  {
    ...past('the least of two reports', 'before.running, last.running', 'last.running, last.running'),
    ...{ file: 'other-traffic.ts' },
  },
  replicas('prompts of other replicas', 'prompt } of prompts) of(pool)', 'prompt } of []) of(pool)'),
  replicas('work of other replicas', 'of(pool).endpoint(endpoint).heard(replica, reported);', ''),
  replicas('a silent replica is gone', 'if (now - heardAt < silentMs) continue;', 'continue;'),
  {
    ...replicas('cache sizes of other replicas', 'held.reportedElsewhere(capacity);', ''),
    ...{ file: 'endpoint-knowledge.ts' },
  },
  {
    ...of('routes', 'pool.ts')('the mean of several pools', 'surveys.length === 1 ?', 'true ?'),
  },
];
