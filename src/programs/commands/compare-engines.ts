import { InvalidArgumentError } from 'commander';
import type { EngineName } from '../../core/engine-name.ts';
import { figure, normOf } from '../../gateway/core/compare-vectors.ts';
import { probeTextNames } from '../../gateway/core/vector-probe.ts';
import type { EngineAddress } from '../../tools/engine-check/ask-engine.ts';
import { compareProbed, type ProbedVectors, probeVectors } from '../../tools/engine-check/vector-probes.ts';
import { textTable } from './tables.ts';

interface ComparedEngine {
  readonly address: string;
  readonly engine: EngineName;
  readonly model: string;
  readonly dimensions: number | null;
  /** Of the first text. */
  readonly norm: number | null;
  /** The cosine to the first engine for each probe text; null if there is none. */
  readonly cosines: Readonly<Record<string, number | null>>;
  readonly verdict: 'reference' | 'same' | 'differs' | 'failed';
  readonly note: string;
}

/** The vectors of engines beside those of the first one. */
export type EngineComparison = Awaited<ReturnType<typeof compareEngines>>;

/** Embeds the probe texts on each engine, one after the other, and compares the vectors with those of the first engine. */
export async function compareEngines(
  addresses: readonly EngineAddress[],
  { minSimilarity, progress }: { readonly minSimilarity: number; readonly progress: (what: string) => void },
) {
  const probed: ProbedVectors[] = [];
  for (const address of addresses) {
    progress(`vectors of ${address.base}`);
    probed.push(await probeVectors(address));
  }
  const [reference] = probed;
  const engines = addresses.map((address, at) => {
    const own = probed[at] ?? { kind: 'failed', why: 'not probed' };
    return rowOf(address, own, { reference, isFirst: at === 0, minSimilarity });
  });
  return {
    good: engines.every(({ verdict }) => verdict === 'reference' || verdict === 'same'),
    minSimilarity,
    engines,
  };
}

function rowOf(
  { base, engine, model }: EngineAddress,
  probed: ProbedVectors,
  {
    reference,
    isFirst,
    minSimilarity,
  }: { readonly reference: ProbedVectors | undefined; readonly isFirst: boolean; readonly minSimilarity: number },
): ComparedEngine {
  const facts = { address: base, engine, model };
  const none = Object.fromEntries(probeTextNames.map((name) => [name, null]));
  if (probed.kind === 'failed') {
    return { ...facts, dimensions: null, norm: null, cosines: none, verdict: 'failed', note: probed.why };
  }
  const { dimensions, vectors } = probed;
  const made = { ...facts, dimensions, norm: vectors[0] === undefined ? null : normOf(vectors[0]) };
  if (reference?.kind !== 'vectors') {
    return { ...made, cosines: none, verdict: 'failed', note: 'the first engine made no vectors to compare with' };
  }
  const verdict = compareProbed(probed, reference, minSimilarity);
  const cosines = Object.fromEntries(probeTextNames.map((name, at) => [name, verdict.texts[at]?.cosine ?? null]));
  if (isFirst) return { ...made, cosines, verdict: 'reference', note: '' };
  const note = verdict.kind === 'same' ? '' : `${verdict.finding}; usually ${verdict.explanation}`;
  return { ...made, cosines, verdict: verdict.kind, note };
}

export function comparisonText({ engines, good, minSimilarity }: EngineComparison): string {
  const shown = (value: number | null | undefined): string =>
    value === null || value === undefined ? '–' : figure(value);
  const table = textTable(
    ['engine', '#dimensions', '#norm', ...probeTextNames.map((name) => `#${name}`), 'verdict'],
    engines.map(({ address, dimensions, norm, cosines, verdict }) => [
      ...[address, dimensions === null ? '–' : String(dimensions), shown(norm)],
      ...probeTextNames.map((name) => shown(cosines[name])),
      verdict,
    ]),
  );
  const notes = engines.flatMap(({ address, note }) => (note === '' ? [] : [`${address}: ${note}`]));
  const last = good
    ? `good: all engines make the same vectors (cosine ${minSimilarity} or more)`
    : 'not good: do not mix these vectors in one index';
  return [table, '', ...notes, last].join('\n');
}

/** A `minSimilarity` as Models declare it. */
export function similarityOption(text: string): number {
  const value = Number(text);
  if (/^[01](\.\d+)?$/.test(text) && value <= 1) return value;
  throw new InvalidArgumentError('It must be a decimal from 0 to 1, such as 0.999.');
}
