import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { AccountStatus, Workspace } from '../../core/account.ts';
import { Refusal } from '../../books/core/administration.ts';
import { messageOf } from '../../core/failure.ts';
import { defaultLimits } from '../../core/limits.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import { shownWorkspace } from '../../books/core/shown.ts';
import { accountsCommand, type Answer, byOperator } from './accounts-command.ts';
import { countOption, creditOption, usdOption } from './option-values.ts';
import { tagBudgetCommand } from './tag-budget.ts';
import { textTable } from './tables.ts';
import { thresholdsCommand } from './thresholds.ts';

interface LimitOptions {
  readonly maxInFlight?: number;
  readonly creditLimit?: Money;
}

function creditLimitOption(): Option {
  const meaning = 'how far the balance may go below zero (post-paid)';
  return new Option('--credit-limit <usd>', meaning).argParser(usdOption);
}

/** Adds `workspace` to the command line: the accounts that pay, and their balances. */
export function workspaceCommand(program: Command): void {
  const group = program.command('workspace').description('make workspaces, fill and suspend them');

  accountsCommand<{ readonly credit: Money; readonly maxInFlight: number; readonly creditLimit: Money }>(
    group
      .command('create')
      .description('make a workspace')
      .argument('<name>', 'unique: letters, digits, ".", "_" and "-", at most 64')
      .addOption(new Option('--credit <usd>', 'its first credit').argParser(usdOption).default(0n, '0'))
      .option(
        '--max-in-flight <n>',
        'requests it may have in flight at once',
        countOption(1),
        defaultLimits.maxInFlight,
      )
      .addOption(creditLimitOption().default(0n, '0')),
    'create',
    async (accounts, { credit, maxInFlight, creditLimit }, [name = '']) =>
      answer(await accounts.createWorkspace({ name, credit, maxInFlight, creditLimit }, byOperator())),
  );

  accountsCommand(group.command('list').description('list all workspaces'), 'refuse', async (accounts) => {
    const workspaces = await accounts.listWorkspaces();
    return { json: workspaces.map(printed), text: tableOf(workspaces) };
  });

  accountsCommand<{ readonly note?: string }>(
    group
      .command('credit')
      .description('add to the balance of a workspace, or correct it')
      .argument('<workspace>', 'name or id')
      .argument('<usd>', 'amount to add, such as 25 or 0.5; below zero for a correction, such as -3', creditOption)
      .option('--note <text>', 'what it is for; a correction needs one'),
    'refuse',
    async (accounts, { note }, [workspace = '', usd = '']) => {
      // If the connection breaks, the credit may or may not have been added. With its idempotency key, a second attempt
      // does not add it twice.
      const credit = { amount: creditOption(usd), note, idempotencyKey: randomUUID() };
      const add = () => accounts.creditWorkspace(workspace, credit, byOperator());
      try {
        return answer(await add());
      } catch (error) {
        if (error instanceof Refusal || !accounts.isDown(error)) throw error;
        return answer(await add().catch(unknownWhether));
      }
    },
  );

  const limits = group
    .command('limits')
    .description('change how many requests of a workspace may be in flight, and how far it may owe')
    .argument('<workspace>', 'name or id')
    .option('--max-in-flight <n>', 'requests it may have in flight at once', countOption(1))
    .addOption(creditLimitOption())
    .hook('preAction', () => {
      const { maxInFlight, creditLimit } = limits.opts<LimitOptions>();
      if (maxInFlight === undefined && creditLimit === undefined) {
        limits.error('error: give --max-in-flight, --credit-limit, or both');
      }
    });
  accountsCommand<LimitOptions>(limits, 'refuse', async (accounts, { maxInFlight, creditLimit }, [workspace = '']) =>
    answer(await accounts.setWorkspaceLimits(workspace, { maxInFlight, creditLimit }, byOperator())),
  );

  thresholdsCommand(
    group,
    { about: 'a balance', argument: ['<workspace>', 'name or id'] },
    (accounts, object, { thresholds, by }) => accounts.setWorkspaceThresholds(object, thresholds, by),
  );

  tagBudgetCommand(group);

  const statuses = [
    ['suspend', 'suspended', 'refuse all requests of a workspace until it is resumed'],
    ['resume', 'active', 'take the suspension of a workspace back'],
  ] as const satisfies readonly (readonly [string, AccountStatus, string])[];
  for (const [name, status, description] of statuses) {
    accountsCommand(
      group.command(name).description(description).argument('<workspace>', 'name or id'),
      'refuse',
      async (accounts, _, [workspace = '']) =>
        answer(await accounts.setWorkspaceStatus(workspace, status, byOperator())),
    );
  }
}

function unknownWhether(cause: unknown): never {
  if (cause instanceof Refusal) throw cause;
  throw new Error(
    `The database did not answer (${messageOf(cause)}), and it is not known whether the credit was added. Look at the balance with \`weir workspace list\` before you repeat the command.`,
    { cause },
  );
}

/** A workspace in the form that scripts have used from the beginning. Nothing may be added to it. */
function printed(workspace: Workspace): Omit<ReturnType<typeof shownWorkspace>, 'max_in_flight' | 'credit_limit'> {
  const { max_in_flight: _, credit_limit: __, ...shown } = shownWorkspace(workspace);
  return shown;
}

function answer(workspace: Workspace): Answer {
  return { json: printed(workspace), text: tableOf([workspace]) };
}

function tableOf(workspaces: readonly Workspace[]): string {
  return textTable(
    ['NAME', 'ID', 'STATUS', '#BALANCE USD', '#CREDIT LIMIT', '#MAX IN FLIGHT'],
    workspaces.map(({ name, id, status, balance, creditLimit = 0n, maxInFlight }) => [
      ...[name, id, status, formatUsd(balance), formatUsd(creditLimit), `${maxInFlight}`],
    ]),
  );
}
