import { type Command, InvalidArgumentError } from 'commander';
import type { Authorship } from '../../books/core/administration.ts';
import { defaultThresholds, readThresholds, type Thresholds, thresholdsForm } from '../../core/alert.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { accountsCommand, byOperator } from './accounts-command.ts';

type SetThresholds = (
  accounts: Accounts,
  object: string,
  given: { readonly thresholds: Thresholds | undefined; readonly by: Authorship },
) => Promise<Thresholds | undefined>;

/** Adds `thresholds` to the commands on workspaces or keys. `argument`: the name of what it changes, and its description. */
export function thresholdsCommand(
  group: Command,
  { about, argument }: { readonly about: string; readonly argument: readonly [name: string, description: string] },
  set: SetThresholds,
): void {
  const command = group
    .command('thresholds')
    .description(`set the percentages of ${about} that cause an alert`)
    .argument(...argument)
    .argument('<percents>', 'such as 50,80,95; none, or default', thresholdsArgument);
  accountsCommand(command, async (accounts, _, [object = '', percents = '']) => {
    const given = thresholdsArgument(percents);
    const wanted = given === 'default' ? undefined : given;
    const thresholds = await set(accounts, object, { thresholds: wanted, by: byOperator() });
    return { json: { thresholds: thresholds ?? null }, text: textOf(thresholds) };
  });
}

export function thresholdsArgument(text: string): Thresholds | 'default' {
  if (text === 'default') return text;
  const thresholds = readThresholds(text);
  if (thresholds !== undefined) return thresholds;
  throw new InvalidArgumentError(`It must be ${thresholdsForm}, with commas between them, or none, or default.`);
}

function textOf(thresholds: Thresholds | undefined): string {
  const percents = (thresholds ?? defaultThresholds).map((percent) => `${percent} %`).join(', ');
  return `Alerts at ${percents === '' ? 'no threshold' : percents}${thresholds === undefined ? ', the default' : ''}.`;
}
