/** What takes minutes to compile the first time and is kept outside the checkout from then on. */
export type Build = 'real engine' | 'real vLLM' | 'kubernetes tools';

/** A command passes or fails as a whole. */
export interface Command {
  readonly kind: 'command';
  readonly name: string;
  readonly command: readonly string[];
}

/** One or several projects of vitest.config.ts under one name. */
export interface Suite {
  readonly kind: 'suite';
  readonly name: string;
  readonly projects?: readonly string[];
  /** Projects whose files wait most of their time. They run beside the others, in a run of vitest of their own. */
  readonly beside?: readonly string[];
  readonly needs?: Build;
  /** Starts real programs, which need the cores. */
  readonly withProcesses?: true;
  /** Runs only when it is named: it needs gigabytes and many minutes. */
  readonly onlyByName?: true;
}

/** What `npm run check` does: no process of another program, and done in seconds. */
const check: readonly (Command | Suite)[] = [
  { kind: 'command', name: 'format', command: ['oxfmt', '--check'] },
  { kind: 'command', name: 'lint', command: ['oxlint'] },
  { kind: 'command', name: 'types', command: ['tsc'] },
  { kind: 'command', name: 'types of the pages', command: ['tsc', '-p', 'portal'] },
  { kind: 'command', name: 'dead exports', command: ['knip'] },
  { kind: 'command', name: 'generated files', command: ['node', 'scripts/generate.ts', '--check'] },
  { kind: 'suite', name: 'unit', projects: ['unit', 'unit-apart', 'components'] },
];

const withProcesses = true;

/** Suites with real processes. Those of one list share a run of vitest; what waits for a long build comes last. */
const runs: readonly (readonly Suite[])[] = [
  [{ kind: 'suite', name: 'envoy', projects: ['envoy', 'envoy-alone'], beside: ['envoy-waits'], withProcesses }],
  [
    { kind: 'suite', name: 'house', withProcesses },
    { kind: 'suite', name: 'stores', withProcesses },
    { kind: 'suite', name: 'portal', withProcesses },
    { kind: 'suite', name: 'engine', needs: 'real engine', withProcesses },
    { kind: 'suite', name: 'clients', needs: 'real engine', withProcesses },
    { kind: 'suite', name: 'kube', needs: 'kubernetes tools', withProcesses },
  ],
  [{ kind: 'suite', name: 'vllm', needs: 'real vLLM', withProcesses, onlyByName: true }],
];

export type Step = Command | { readonly kind: 'vitest'; readonly suites: readonly Suite[] };

/** The steps behind the names on the command line, in the order in which they run best. No name means all but those that run only by name. */
export function chooseSteps(names: readonly string[]): readonly Step[] {
  const known = ['check', ...check.map(({ name }) => name), ...runs.flat().map(({ name }) => name)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no step is called "${unknown}"; there are: ${known.join(', ')}`);
  const isChosen = (step: Command | Suite): boolean =>
    names.includes(step.name) || (names.length === 0 && !(step.kind === 'suite' && step.onlyByName === true));
  const ofCheck = names.includes('check') ? check : check.filter(isChosen);
  return [
    ...ofCheck.map((step): Step => (step.kind === 'suite' ? { kind: 'vitest', suites: [step] } : step)),
    ...runs.flatMap((run): readonly Step[] => {
      const suites = run.filter(isChosen);
      return suites.length === 0 ? [] : [{ kind: 'vitest', suites }];
    }),
  ];
}
