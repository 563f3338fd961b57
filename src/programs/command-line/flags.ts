import { parseArgs, type ParseArgsConfig } from 'node:util';
import { refusal } from '../../books/core/operator-refusals.ts';
import { didYouMean } from '../../core/near-name.ts';
import { messageOf } from '../../core/failure.ts';

type Flags = NonNullable<ParseArgsConfig['options']>;

/**
 * Reads the flags of a program that has no other arguments. Throws a Refusal that names the first flag that is not
 * understood, and points to `--help`.
 */
export function readFlags<const Known extends Flags>(
  program: 'start' | 'serve' | 'portal' | 'picker',
  argv: readonly string[],
  known: Known,
): ReturnType<typeof parseArgs<{ args: string[]; options: Known; strict: true; allowPositionals: false }>>['values'] {
  const args = [...argv];
  try {
    const { tokens } = parseArgs({ args, options: known, strict: false, allowPositionals: true, tokens: true });
    const names = Object.keys(known).map((name) => `--${name}`);
    for (const token of tokens) {
      if (token.kind !== 'option' || token.name in known) continue;
      throw new Error(`Unknown option '${token.rawName}'${didYouMean(token.rawName, names)}`);
    }
    return parseArgs({ args, options: known, strict: true, allowPositionals: false }).values;
  } catch (error) {
    const [reason] = messageOf(error).split(/\.\s/);
    const sentence = `${reason}. \`weir ${program} --help\` lists the options.`;
    throw refusal('command_malformed', { reason: sentence }, { cause: error });
  }
}

/** The environment with the flags that were given over it. `flags`: values by the name of their variable; undefined: not given. */
export function withFlags(flags: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  return { ...process.env, ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)) };
}
