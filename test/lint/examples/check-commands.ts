import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command, CommanderError, type Option } from 'commander';
import { commandGroups } from '../../../src/programs/command-line/command-groups.ts';
import { readStartOptions, startHelp } from '../../../src/programs/start/options.ts';
import { messageOf } from '../../../src/core/failure.ts';
import {
  envoySettingsSchema,
  pickerSettingsSchema,
  portalSettingsSchema,
  settingsSchema,
} from '../../../src/process/settings/settings.ts';
import type { CallChecks } from './check-calls.ts';
import type { FormChecks } from './check-forms.ts';
import { type ShellCommand, shellCommands } from './shell-commands.ts';

/** Programs of others: their words are theirs. */
const foreign = new Set([
  ...['aider', 'claude', 'cline', 'codex', 'mini', 'qwen', 'openapi-typescript'],
  ...['createdb', 'docker', 'envoy', 'kind', 'node', 'openssl', 'pg_dump', 'pg_restore', 'sh'],
]);
/** Variables that begin like a setting and are none: a client's own, those of scripts, and one that Kubernetes sets. */
const noSettings = new Set(['WEIR_KEY', 'WEIR_PORTAL', 'WEIR_PORT', 'WEIR_SERVICE_HOST']);

/** What stands for a value in a line of usage, and a value for it. */
const placeholders: Readonly<Record<string, string>> = { N: '1', USD: '1', YESTERDAY: '2026-11-21' };
/** What an example leaves out of a key or an address. */
const leftOut = /…/g;
const isPlaceholder = (word: string): boolean => /^-?[A-Z][A-Z_]*$/.test(word) || word.includes('…');
const filled = (word: string): string =>
  word.replace(/^(-?)([A-Z]+)$/, (all, sign: string, name: string) => {
    const value = placeholders[name];
    return value === undefined ? all : sign + value;
  });

/** What the checks of a command go by. */
export interface CommandContext {
  readonly forms: FormChecks;
  readonly calls: CallChecks;
  readonly root: string;
}

/** `whole`: the command can be typed as it stands. `mention`: only the words that are there are looked at. */
interface Strict extends CommandContext {
  readonly strictness: 'whole' | 'mention';
}

/** What is wrong with the commands of a shell example, a sentence each. */
export async function commandProblems(text: string, context: CommandContext): Promise<readonly string[]> {
  const found = shellCommands(text).map(async (command) => [
    ...envProblems(command),
    ...(await wordProblems(command, { ...context, strictness: 'whole' })),
    ...(command.stdin === undefined ? [] : context.forms.yaml(command.stdin)),
  ]);
  return (await Promise.all(found)).flat();
}

/** The same of a command inside a sentence. Undefined: the code is no command. */
export async function mentionProblems(span: string, context: CommandContext): Promise<readonly string[] | undefined> {
  if (!/^(?:\w+=\S+ )*(?:npx |kubectl .* -- )?(?:weir|npm|helm|curl)(?: |$)/.test(span)) return undefined;
  // Usage: `[…]` may be left out, and of `a|b` one is meant.
  const [command] = shellCommands(span.replaceAll(/[[\]]/g, '').replaceAll(/(\w+)(?:\|\w+)+/g, '$1'));
  if (command === undefined) return undefined;
  return [...envProblems(command), ...(await wordProblems(command, { ...context, strictness: 'mention' }))];
}

const settings: Readonly<Record<string, { readonly safeParse: (value: unknown) => { readonly success: boolean } }>> = {
  ...settingsSchema.shape,
  ...envoySettingsSchema.shape,
  ...portalSettingsSchema.shape,
  ...pickerSettingsSchema.shape,
};

/** Settings that a text names and that there are not. */
export function settingProblems(text: string): readonly string[] {
  const named = new Set([...text.matchAll(/\bWEIR_[A-Z][A-Z_]*\b(?!…)/g)].map(([name]) => name));
  return [...named]
    .filter((name) => !(name in settings) && !noSettings.has(name) && !startHelp.includes(name))
    .map((name) => `there is no setting ${name}`);
}

function envProblems({ env }: ShellCommand): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const isRefused = !isPlaceholder(value) && settings[name]?.safeParse(value).success === false;
    return [...settingProblems(name), ...(isRefused ? [`${name} does not take "${value}"`] : [])];
  });
}

async function wordProblems(command: ShellCommand, context: Strict): Promise<readonly string[]> {
  const [program, ...args] = command.words;
  const { calls, root, strictness } = context;
  const again = (words: readonly string[]): Promise<readonly string[]> => wordProblems({ ...command, words }, context);
  switch (program) {
    case undefined:
      return [];
    case 'weir':
      return weirProblems(args, command.env, context);
    case 'npx':
      return args[0] === 'weir' || foreign.has(args[0] ?? '') ? again(args) : binProblems(args[0] ?? '', root);
    case 'npm':
      return npmProblems(args, command.env, context);
    case 'kubectl': {
      const at = args.indexOf('--');
      return args.includes('exec') && at !== -1 ? again(args.slice(at + 1)) : [];
    }
    case 'helm':
      return helmProblems(args, context);
    case 'curl':
      return calls.curl(args);
    default:
      if (program === 'node' && strictness === 'whole') return flagProblems(args.slice(1), args[0] ?? '', root);
      if (foreign.has(program) || (program.includes('/') && existsSync(join(root, program)))) return [];
      return [`there is no program ${program}`];
  }
}

function binProblems(name: string, root: string): readonly string[] {
  return existsSync(join(root, 'node_modules', '.bin', name)) ? [] : [`npx ${name}: there is no such program`];
}

/** The command line as commander knows it. Actions do nothing, and placeholders are good values. */
async function weirProgram(): Promise<Command> {
  const program = new Command('weir').exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  for (const { load } of commandGroups) if (load.kind === 'commands') (await load.register())(program);
  const calm = (command: Command): void => {
    if (command.commands.length === 0) command.action(() => {});
    for (const option of command.options) takePlaceholders(option);
    for (const inner of command.commands) calm(inner);
  };
  calm(program);
  return program;
}

function takePlaceholders(option: Option): void {
  const { parseArg } = option;
  if (parseArg === undefined) return;
  option.argParser((value: string, previous: unknown) => (isPlaceholder(value) ? value : parseArg(value, previous)));
}

const start = 'src/programs/start/options.ts';

async function weirProblems(
  args: readonly string[],
  env: ShellCommand['env'],
  { root, strictness }: Strict,
): Promise<readonly string[]> {
  const given = args.map((word) => filled(word.replaceAll(leftOut, 'x')));
  const [name = ''] = given;
  const group = commandGroups.find((one) => one.name === name);
  if (group?.load.kind === 'program') {
    if (name === 'start' && strictness === 'whole') return startProblems(given.slice(1), env);
    const file = name === 'start' ? start : `src/programs/${name}/${name}.ts`;
    return flagProblems(given.slice(1), file, root);
  }
  const program = await weirProgram();
  return strictness === 'whole' ? parseProblems(program, given) : partProblems(program, given);
}

function startProblems(args: readonly string[], env: ShellCommand['env']): readonly string[] {
  try {
    readStartOptions(args, env);
    return [];
  } catch (error) {
    return [`npm start ${args.join(' ')}: ${messageOf(error)}`];
  }
}

async function parseProblems(program: Command, args: readonly string[]): Promise<readonly string[]> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return [];
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return [];
    return [`weir ${args.join(' ')}: ${messageOf(error)}`];
  }
}

/** Looks at the words of a command that is only mentioned: the command itself, its flags, and those values that are given. */
function partProblems(program: Command, args: readonly string[]): readonly string[] {
  let command = program;
  let at = 0;
  for (; at < args.length; at += 1) {
    const inner = command.commands.find((one) => one.name() === args[at]);
    if (inner === undefined) break;
    command = inner;
  }
  const problems: string[] = [];
  const operands: string[] = [];
  for (; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (!/^--\w/.test(word)) {
      operands.push(word);
      continue;
    }
    const option = command.options.find(({ long }) => long === word);
    if (option === undefined && !['--help', '--version'].includes(word))
      problems.push(`${command.name()} has no ${word}`);
    const next = args[at + 1];
    if (option?.required !== true || next === undefined || next.startsWith('--')) continue;
    at += 1;
    try {
      option.parseArg?.(next, undefined);
    } catch (error) {
      problems.push(`${word} ${next}: ${messageOf(error)}`);
    }
  }
  if (operands.length > command.registeredArguments.length && operands.some((word) => !isPlaceholder(word))) {
    problems.push(`weir ${args.join(' ')}: there is no such command`);
  }
  return problems;
}

function npmProblems(args: readonly string[], env: ShellCommand['env'], context: Strict) {
  const { root } = context;
  const [verb = '', ...rest] = args;
  if (['ci', 'install', 'version'].includes(verb)) return [];
  const name = verb === 'run' ? (rest[0] ?? '') : verb;
  const prefix = args.includes('--prefix') ? (args[args.indexOf('--prefix') + 1] ?? '') : '.';
  const { scripts } = JSON.parse(readFileSync(join(root, prefix, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const script = scripts[name];
  if (script === undefined) return [`there is no npm script "${name}" in ${prefix}`];
  const flags = args.includes('--') ? args.slice(args.indexOf('--') + 1) : [];
  if (name === 'start') return weirProblems(['start', ...flags], env, context);
  const file = script.split(' ').findLast((word) => /\.(ts|mjs)$/.test(word) && word !== 'bin/run.mjs');
  return file === undefined ? [] : flagProblems(flags, file, root);
}

/** Flags that a program which reads its own command line does not declare, in its file or in one that this imports. */
function flagProblems(args: readonly string[], file: string, root: string): readonly string[] {
  const source = readFileSync(join(root, file), 'utf8');
  const imported = [...source.matchAll(/from '(\.\.?\/[^']+)'/g)].map(([, path = '']) => join(dirname(file), path));
  const text = [source, ...imported.map((path) => readFileSync(join(root, path), 'utf8'))].join('\n');
  const declared = new Set(
    [...text.matchAll(/['"]?([a-z][\w-]*)['"]?: \{ type: '(?:string|boolean)'|'--([\w-]+)'/g)].map(
      ([, option, literal]) => option ?? literal,
    ),
  );
  return args
    .filter((word) => word.startsWith('--') && !declared.has(word.slice(2)))
    .map((word) => `${file} has no ${word}`);
}

function helmProblems(args: readonly string[], { forms, root }: CommandContext): readonly string[] {
  const sets = args.flatMap((word, at) => (args[at - 1] === '--set' ? [word.split('=')] : []));
  const folders = args.filter((word) => word.startsWith('charts/') && !existsSync(join(root, word)));
  return [
    ...folders.map((folder) => `there is no ${folder}`),
    ...sets.flatMap(([path = '', value = '']) => forms.value(path, value)),
  ];
}
