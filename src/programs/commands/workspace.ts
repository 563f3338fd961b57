import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { Refusal, refusal } from '../../books/core/operator-refusals.ts';
import { type AccountStatus, type Workspace, workspaceFields } from '../../core/account.ts';
import type { NewWorkspace } from '../../books/core/administration.ts';
import { messageOf } from '../../core/failure.ts';
import { formatUsd } from '../../core/money.ts';
import { shownWorkspace } from '../../books/core/shown.ts';
import { accountsCommand, type Answer, byOperator } from './accounts-command.ts';
import { changesFrom, withChanges, withFields } from './field-options.ts';
import { creditOption, usdOption } from './option-values.ts';
import { tagBudgetCommand } from './tag-budget.ts';
import { textTable } from './tables.ts';
import { thresholdsCommand } from './thresholds.ts';

/** Adds `workspace` to the command line: the accounts that pay, and their balances. */
export function workspaceCommand(program: Command): void {
  const group = program.command('workspace').description('make workspaces, fill and suspend them');

  const create = group
    .command('create')
    .description('create a workspace')
    .argument('<name>', 'unique: letters, digits, ".", "_" and "-", at most 64')
    .addOption(new Option('--credit <usd>', 'initial credit').argParser(usdOption).default(0n, '0'));
  accountsCommand<Omit<NewWorkspace, 'name'>>(
    withFields(create, workspaceFields),
    async (accounts, options, [name = '']) =>
      answer(await accounts.createWorkspace({ ...options, name }, byOperator())),
    'create',
  );

  accountsCommand(group.command('list').description('list all workspaces'), async (accounts) => {
    const workspaces = await accounts.listWorkspaces();
    return { json: workspaces.map(printed), text: tableOf(workspaces) };
  });

  accountsCommand<{ readonly note?: string }>(
    group
      .command('credit')
      .description('add to the balance of a workspace, or correct it')
      .argument('<workspace>', 'name or id')
      .argument('<usd>', 'amount to add, such as 25 or 0.5; below zero for a correction, such as -3', creditOption)
      .option('--note <text>', 'its purpose; a correction needs a note'),
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
    .description('change a workspace’s limits of in-flight requests, tokens and credit, and its labels')
    .argument('<workspace>', 'name or id');
  accountsCommand(withChanges(limits, workspaceFields), async (accounts, options, [workspace = '']) =>
    answer(await accounts.changeWorkspace(workspace, changesFrom(workspaceFields, options), byOperator())),
  );

  thresholdsCommand(
    group,
    { about: 'a balance', argument: ['<workspace>', 'name or id'] },
    (accounts, object, { thresholds, by }) => accounts.setWorkspaceThresholds(object, thresholds, by),
  );

  tagBudgetCommand(group);

  const statuses = [
    ['suspend', 'suspended', 'refuse all requests of a workspace until you resume it'],
    ['resume', 'active', 'resume a workspace'],
  ] as const satisfies readonly (readonly [string, AccountStatus, string])[];
  for (const [name, status, description] of statuses) {
    accountsCommand(
      group.command(name).description(description).argument('<workspace>', 'name or id'),
      async (accounts, _, [workspace = '']) =>
        answer(await accounts.changeWorkspace(workspace, { status }, byOperator())),
    );
  }
}

function unknownWhether(cause: unknown): never {
  if (cause instanceof Refusal) throw cause;
  throw refusal('credit_unknown', { reason: messageOf(cause) }, { cause });
}

/** A workspace in the form that scripts have used from the beginning. Nothing may be added to it. */
function printed(workspace: Workspace) {
  const { id, name, status, balance } = shownWorkspace(workspace);
  return { id, name, status, balance };
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
