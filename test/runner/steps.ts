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

/** `short`: the files that `npm test` runs. `rest`: the others. `every`: both. */
export type Part = 'short' | 'rest' | 'every';

/** Suites that share a run of vitest. */
export interface VitestStep {
  readonly kind: 'vitest';
  readonly name: string;
  readonly suites: readonly Suite[];
  readonly part: Part;
}

export type Step = Command | VitestStep;

const unit: Suite = { kind: 'suite', name: 'unit', projects: ['unit', 'unit-apart', 'components'] };

/** What `npm run check` does: no process of another program, and done in seconds. */
const check: readonly (Command | Suite)[] = [
  { kind: 'command', name: 'format', command: ['oxfmt', '--check'] },
  { kind: 'command', name: 'lint', command: ['oxlint'] },
  {
    kind: 'command',
    name: 'plain English',
    command: ['textlint', '--rulesdir', 'test/lint/english/rules', '{*,{charts,docs,examples}/**/*}.md'],
  },
  { kind: 'command', name: 'types', command: ['tsc'] },
  { kind: 'command', name: 'types of the pages', command: ['tsc', '-p', 'portal'] },
  { kind: 'command', name: 'dead exports', command: ['knip'] },
  { kind: 'command', name: 'generated files', command: ['node', 'scripts/generate.ts', '--check'] },
  unit,
];

/** The longest of the commands. The same seeds each time, so that a failure is the change's. */
const simulation: Command = {
  kind: 'command',
  name: 'simulation',
  command: ['node', 'test/simulation/main.ts', '--seed', '1', '--hours', '8'],
};

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
const suitesOfAll = runs.map((suites) => suites.filter(({ onlyByName }) => onlyByName !== true));

/** What `npm test` runs with real programs, in one run of vitest: the files of promises.ts, which need no build. */
const realParts: VitestStep = {
  kind: 'vitest',
  name: 'promises, with real parts',
  suites: suitesOfAll.flat().filter(({ name }) => ['envoy', 'stores', 'portal'].includes(name)),
  part: 'short',
};

/**
 * The steps behind the words on the command line, in the order in which they run best. No word means those of `npm test`, `all` those of
 * `npm run test:all`, and another word the suite of that name, whole.
 */
export function chooseSteps(words: readonly string[]): readonly Step[] {
  const known = ['all', 'check', ...check.map(({ name }) => name), ...runs.flat().map(({ name }) => name)];
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw new Error(`no step is called "${unknown}"; there are: ${known.join(', ')}`);
  if (words.length === 0) return [simulation, ...checkSteps(check, 'short'), realParts];
  if (words.includes('all')) {
    const rest = suitesOfAll.flatMap((suites) => stepOf(suites, 'rest'));
    return [simulation, ...checkSteps(check, 'every'), realParts, ...rest];
  }
  const isChosen = ({ name }: Command | Suite): boolean => words.includes(name);
  return [
    ...checkSteps(words.includes('check') ? check : check.filter(isChosen), 'every'),
    ...runs.flatMap((suites) => stepOf(suites.filter(isChosen), 'every')),
  ];
}

/** Commands that follow each other may run side by side. A run of vitest has the machine alone. */
export function atOnce(steps: readonly Step[]): readonly (readonly Step[])[] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (step.kind === 'command' && last?.at(-1)?.kind === 'command') last.push(step);
    else groups.push([step]);
  }
  return groups;
}

const checkSteps = (steps: readonly (Command | Suite)[], part: Part): readonly Step[] =>
  steps.flatMap((step): readonly Step[] => (step.kind === 'suite' ? stepOf([step], part) : [step]));

function stepOf(suites: readonly Suite[], part: Part): readonly VitestStep[] {
  const name = suites.map((suite) => suite.name).join(', ');
  return suites.length === 0 ? [] : [{ kind: 'vitest', name, suites, part }];
}
