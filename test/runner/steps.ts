/** What takes minutes to compile the first time and is kept outside the checkout from then on. */
export type Build = 'real engine' | 'kubernetes tools';

/** One step of a run. A command passes or fails as a whole; a suite is made of tests. */
export type Step =
  | { readonly kind: 'command'; readonly name: string; readonly command: readonly string[] }
  | { readonly kind: 'suite'; readonly name: string; readonly limitMinutes: number; readonly needs?: Build };

/** What `npm run check` does: no process of another program, and done in seconds. */
const check: readonly Step[] = [
  { kind: 'command', name: 'format', command: ['oxfmt', '--check'] },
  { kind: 'command', name: 'lint', command: ['oxlint'] },
  { kind: 'command', name: 'types', command: ['tsc'] },
  { kind: 'command', name: 'dead exports', command: ['knip'] },
  { kind: 'command', name: 'generated files', command: ['node', 'scripts/generate.ts', '--check'] },
  { kind: 'suite', name: 'unit', limitMinutes: 12 },
];

/** Suites with real processes; each is a project of vitest.config.ts. What waits for a long build comes last. */
const suites: readonly Step[] = [
  { kind: 'suite', name: 'house', limitMinutes: 6 },
  { kind: 'suite', name: 'stores', limitMinutes: 10 },
  { kind: 'suite', name: 'envoy', limitMinutes: 40 },
  { kind: 'suite', name: 'engine', limitMinutes: 10, needs: 'real engine' },
  { kind: 'suite', name: 'clients', limitMinutes: 20, needs: 'real engine' },
  { kind: 'suite', name: 'kube', limitMinutes: 20, needs: 'kubernetes tools' },
];

/** The steps behind the names on the command line, in the order in which they run best. No name means all of them. */
export function chooseSteps(names: readonly string[]): readonly Step[] {
  const all = [...check, ...suites];
  if (names.length === 0) return all;
  const known = new Set(['check', ...all.map(({ name }) => name)]);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`no step is called "${unknown}"; there are: ${[...known].join(', ')}`);
  return all.filter((step) => names.includes(step.name) || (names.includes('check') && check.includes(step)));
}
