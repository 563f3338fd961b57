import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type CountedRange, isReached, type Mutant, mutate, offsetOf } from './support/mutants.ts';

/** A change that the simulation notices, and how. */
export interface Noticed {
  readonly mutant: Mutant;
  readonly seed: number;
  readonly says: string;
}

export interface SecondPass {
  readonly noticed: readonly Noticed[];
  /** No world reaches these. */
  readonly unreached: readonly Mutant[];
  readonly alive: readonly Mutant[];
}

interface SecondPassOptions {
  /** The folder for a copy of the code. */
  readonly folder: string;
  /** From 1 on, so many worlds are looked at for the code that they reach. */
  readonly worlds: number;
  /** Worlds that a change meets at most. */
  readonly tries: number;
  readonly say: (line: string) => void;
}

interface KnownWorld {
  readonly seed: number;
  readonly ms: number;
  /** By the file's URL. */
  readonly ranges: ReadonlyMap<string, readonly CountedRange[]>;
}

/** A changed world that takes so many times as long as the usual one hangs. */
const slowFactor = 4;
const leastMs = 30_000;

/** Runs what unit tests leave alive against the simulation: each change in worlds that reach it, the fastest ones first. */
export function secondPass(survivors: readonly Mutant[], options: SecondPassOptions): SecondPass {
  const { folder, tries, say } = options;
  // Whole, because programs that run in it write there.
  const copy = resolve(folder, 'second-pass');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  // Packages are found above it.
  for (const part of ['src', 'test/simulation', 'test/support', 'test/programmable-engine', 'package.json'])
    cpSync(part, join(copy, part), { recursive: true });
  const worlds = knownWorlds(copy, options);
  say(`second pass: ${survivors.length} changes, in ${worlds.length} worlds`);
  const noticed: Noticed[] = [];
  const [unreached, alive]: Mutant[][] = [[], []];
  for (const mutant of survivors) {
    const path = join(copy, mutant.fileName);
    const text = readFileSync(path, 'utf8');
    const offset = offsetOf(text, mutant.location.start);
    const url = pathToFileURL(path).href;
    const reaching = worlds.filter(({ ranges }) => isReached(ranges.get(url) ?? [], offset));
    if (reaching.length === 0) {
      unreached?.push(mutant);
      continue;
    }
    writeFileSync(path, mutate(text, mutant));
    const found = reaching.slice(0, tries).flatMap(({ seed, ms }): readonly Noticed[] => {
      if (noticed.at(-1)?.mutant === mutant) return [];
      const { status, stdout, stderr } = simulate(copy, seed, {
        timeoutMs: Math.max(leastMs, Math.ceil(slowFactor * ms)),
      });
      if (status === 0) return [];
      const says = status === null ? 'does not end' : (`${stdout}\n${stderr}`.trim().split('\n')[0] ?? '');
      const one = { mutant, seed, says };
      noticed.push(one);
      return [one];
    });
    writeFileSync(path, text);
    if (found.length === 0) alive?.push(mutant);
  }
  return { noticed, unreached: unreached ?? [], alive: alive ?? [] };
}

/** The worlds, and the code that each of them reaches. */
function knownWorlds(copy: string, { worlds }: SecondPassOptions): readonly KnownWorld[] {
  const known: KnownWorld[] = [];
  for (let seed = 1; seed <= worlds; seed += 1) {
    const coverage = join(copy, 'coverage');
    const begunAt = performance.now();
    const { status, stdout } = simulate(copy, seed, { env: { NODE_V8_COVERAGE: coverage } });
    if (status !== 0) throw new Error(`the world of seed ${seed} is not whole without a change: ${stdout}`);
    const ranges = new Map<string, CountedRange[]>();
    for (const file of globSync('*.json', { cwd: coverage })) {
      const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as {
        readonly result: readonly {
          readonly url: string;
          readonly functions: readonly { readonly ranges: readonly CountedRange[] }[];
        }[];
      };
      for (const { url, functions } of result)
        if (url.includes('/src/'))
          ranges.set(url, [...(ranges.get(url) ?? []), ...functions.flatMap((one) => one.ranges)]);
    }
    if (ranges.size === 0) throw new Error(`no coverage of the world of seed ${seed} is in ${coverage}`);
    rmSync(coverage, { recursive: true, force: true });
    known.push({ seed, ms: performance.now() - begunAt, ranges });
  }
  return known.toSorted((one, other) => one.ms - other.ms);
}

function simulate(
  copy: string,
  seed: number,
  { timeoutMs, env = {} }: { readonly timeoutMs?: number; readonly env?: Readonly<Record<string, string>> },
) {
  return spawnSync(process.execPath, ['test/simulation/main.ts', '--seed', String(seed)], {
    ...{ cwd: copy, encoding: 'utf8', timeout: timeoutMs, killSignal: 'SIGKILL' },
    env: { ...process.env, ...env },
  });
}
