import type { Command } from 'commander';
import type { KeyRecord } from '../../store/keys.ts';
import type { BudgetPeriod, Key, KeyStatus } from '../../core/account.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import { accountsCommand } from './accounts-command.ts';
import { countOption, periodOption, usdOption } from './option-values.ts';
import { textTable } from './tables.ts';

interface BudgetOptions {
  readonly budget?: Money;
  readonly period?: BudgetPeriod;
}

interface LimitOptions {
  readonly rate?: number;
  readonly burst?: number;
}

/** Adds `key` to the command line: the credentials of workspaces. */
export function keyCommand(program: Command): void {
  const group = program.command('key').description('make keys, limit, suspend and revoke them');

  const create = withBudget(group.command('create').description('make a key; its text is shown this once'))
    .requiredOption('--workspace <workspace>', 'name or id of the workspace that pays')
    .option('--rate <n>', 'sustained requests per second', countOption(1), 100)
    .option('--burst <n>', 'requests at once above the rate', countOption(1), 200);
  accountsCommand<BudgetOptions & { readonly workspace: string; readonly rate: number; readonly burst: number }>(
    create,
    'refuse',
    async (accounts, options) => {
      const { workspace, rate, burst } = options;
      const budget = budgetOf(create, options);
      const { key, text } = await accounts.createKey({ workspace, budget, rate, burst, now: Date.now() });
      const { id, ...rest } = jsonOf(key);
      return { json: { id, key: text, ...rest }, text: shownOnce(key, text) };
    },
  );

  accountsCommand<{ readonly workspace?: string }>(
    group
      .command('list')
      .description('list keys, without their texts, which nobody has kept')
      .option('--workspace <workspace>', 'only those of this workspace, by name or id'),
    'refuse',
    async (accounts, { workspace }) => {
      const keys = await accounts.listKeys(
        workspace === undefined ? undefined : await accounts.findWorkspace(workspace),
      );
      return { json: keys.map(jsonOf), text: tableOf(keys) };
    },
  );

  const statuses = [
    ['revoke', 'revoked', 'end a key for good: requests with it get 401'],
    ['suspend', 'suspended', 'refuse requests with a key until it is resumed: they get 403'],
    ['resume', 'active', 'take the suspension of a key back'],
  ] as const satisfies readonly (readonly [string, KeyStatus, string])[];
  for (const [name, status, description] of statuses) {
    accountsCommand(
      group.command(name).description(description).argument('<id>', 'id of the key'),
      'refuse',
      async (accounts, _, [id = '']) => answer(await accounts.setKeyStatus(id, status)),
    );
  }

  const limits = group
    .command('limits')
    .description('change how many requests a key may make; what is not given stays as it is')
    .argument('<id>', 'id of the key')
    .option('--rate <n>', 'sustained requests per second', countOption(1))
    .option('--burst <n>', 'requests at once above the rate', countOption(1))
    .hook('preAction', () => {
      const { rate, burst } = limits.opts<LimitOptions>();
      if (rate === undefined && burst === undefined) limits.error('error: give --rate, --burst, or both');
    });
  accountsCommand<LimitOptions>(limits, 'refuse', async (accounts, { rate, burst }, [id = '']) =>
    answer(
      await accounts.setKeyLimits(id, {
        ...(rate === undefined ? {} : { rate }),
        ...(burst === undefined ? {} : { burst }),
      }),
    ),
  );

  const budget = withBudget(group.command('budget').description('set the budget of a key, or clear it'))
    .argument('<id>', 'id of the key')
    .option('--clear', 'take the budget away')
    .hook('preAction', () => {
      const options = budget.opts<BudgetOptions & { readonly clear?: true }>();
      if ((options.budget === undefined) === (options.clear !== true)) {
        budget.error('error: give either --budget with --period, or --clear');
      }
    });
  accountsCommand<BudgetOptions>(budget, 'refuse', async (accounts, options, [id = '']) =>
    answer(await accounts.setKeyBudget(id, budgetOf(budget, options))),
  );
}

/** Adds the options of a budget. Half a budget is refused before the accounts are opened. */
function withBudget(command: Command): Command {
  return command
    .hook('preAction', () => void budgetOf(command, command.opts()))
    .option('--budget <usd>', 'most that may be spent with the key in a period', usdOption)
    .option(
      '--period <period>',
      'when the budget starts anew, in UTC: day, week (Monday), month, or total for never',
      periodOption,
    );
}

function budgetOf(command: Command, { budget, period }: BudgetOptions): Key['budget'] {
  if (budget === undefined && period === undefined) return undefined;
  if (budget === undefined || period === undefined) return command.error('error: --budget and --period go together');
  return { limit: budget, period };
}

function answer(key: KeyRecord) {
  return { json: jsonOf(key), text: tableOf([key]) };
}

/** The form that scripts rely on. */
function jsonOf({ id, workspaceName, status, budget, rate, burst, createdAt, lastUsedAt }: KeyRecord) {
  return {
    id,
    workspace: workspaceName,
    status,
    budget: budget ? { limit: formatUsd(budget.limit), period: budget.period } : null,
    rate,
    burst,
    created_at: new Date(createdAt).toISOString(),
    last_used_at: lastUsedAt === undefined ? null : new Date(lastUsedAt).toISOString(),
  };
}

function tableOf(keys: readonly KeyRecord[]): string {
  return textTable(
    ['ID', 'WORKSPACE', 'STATUS', 'BUDGET USD', '#RATE', '#BURST', 'CREATED', 'LAST USED'],
    keys.map(({ id, workspaceName, status, budget, rate, burst, createdAt, lastUsedAt }) => [
      id,
      workspaceName,
      status,
      budget ? `${formatUsd(budget.limit)} per ${budget.period}`.replace('per total', 'in total') : '-',
      `${rate}`,
      `${burst}`,
      new Date(createdAt).toISOString(),
      lastUsedAt === undefined ? 'never' : new Date(lastUsedAt).toISOString(),
    ]),
  );
}

function shownOnce(key: KeyRecord, text: string): string {
  return `The key ${key.id} of the workspace "${key.workspaceName}". It is shown this once; only its hash is kept.

  ${text}

Any client of the chat-completions format works with it:

  export OPENAI_BASE_URL=http://localhost:8080/v1 OPENAI_API_KEY=${text}
  curl $OPENAI_BASE_URL/chat/completions -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \\
    -d '{"model": "ORG/MODEL", "messages": [{"role": "user", "content": "Hello"}]}'`;
}
