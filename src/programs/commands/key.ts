import type { Command } from 'commander';
import type { KeyDetails, KeyRecord, NewKey } from '../../books/core/administration.ts';
import { Refusal } from '../../books/core/operator-refusals.ts';
import { shownKey } from '../../books/core/shown.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { keyFields, type KeyStatus } from '../../core/account.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import type { ModelPatterns } from '../../core/model-patterns.ts';
import { accountsCommand, type Answer, byOperator, databaseCommand, withAccounts } from './accounts-command.ts';
import { budgetOf, type BudgetOptions, budgetText, withBudget } from './budget-options.ts';
import { findOwnGateway, type OwnGateway, readPublicUrl } from './own-gateway.ts';
import { changesFrom, withChanges, withFields } from './field-options.ts';
import { absent, modelsOption, momentOption, optionOr } from './option-values.ts';
import { momentText, type TableWidth, textTable, wide } from './tables.ts';
import { thresholdsCommand } from './thresholds.ts';

interface CreateOptions extends BudgetOptions, Omit<NewKey, 'budget' | 'expiresAt' | 'maker'> {
  readonly data?: string;
  readonly json?: true;
  readonly expires?: number;
}

interface UpdateOptions {
  readonly name?: string;
  readonly expires?: number | typeof absent;
  readonly models?: ModelPatterns | typeof absent;
}

const statuses = [
  ['revoke', 'revoked', 'end a key permanently: requests with it get 401'],
  ['suspend', 'suspended', 'refuse requests with a key until you resume it: they get 403'],
  ['resume', 'active', 'resume a key'],
] as const satisfies readonly (readonly [string, KeyStatus, string])[];

/** Adds `key` to the command line: the credentials of workspaces. */
export function keyCommand(program: Command): void {
  const group = program.command('key').description('make keys, limit, suspend and revoke them');

  createCommand(group);

  accountsCommand<{ readonly workspace?: string }>(
    group
      .command('list')
      .description('list keys, without their texts, which Weir does not store')
      .option('--workspace <workspace>', 'only keys of this workspace, by name or id'),
    async (accounts, { workspace }) => {
      const keys = await accounts.listKeys(
        workspace === undefined ? undefined : await accounts.findWorkspace(workspace),
      );
      const spent = await accounts.spentBy(
        keys.map(({ id }) => id),
        Date.now(),
      );
      return { json: keys.map((key) => shownKey(key, spent)), text: tableOf(keys, spent) };
    },
  );

  for (const [name, status, description] of statuses) {
    databaseCommand<{ readonly override?: true; readonly data?: string }>(
      group
        .command(name)
        .description(description)
        .argument('<id>', 'id of the key')
        .option(
          '--override',
          'even a key that an object declares, until the object changes; while the database is down, through the data folder’s portal',
        ),
      async (location, { override, data }, [id = '']) => {
        const change = { status, override };
        try {
          return await withAccounts(location, async (accounts) =>
            answer(accounts, await accounts.changeKey(id, change, byOperator())),
          );
        } catch (error) {
          // A database that is down, or stores nothing.
          if (override !== true || error instanceof Refusal) throw error;
          const { overrideByPortal } = await import('./override-key.ts');
          return overrideByPortal({ id, status, data }, error);
        }
      },
    );
  }

  const limits = group
    .command('limits')
    .description('change a key’s rate and token limits; omitted options keep their values')
    .argument('<id>', 'id of the key');
  accountsCommand(withChanges(limits, keyFields), async (accounts, options, [id = '']) =>
    answer(accounts, await accounts.changeKey(id, changesFrom(keyFields, options), byOperator())),
  );

  const update = group
    .command('update')
    .description('change a key’s name, expiry or models; omitted options keep their values')
    .argument('<id>', 'id of the key')
    .option('--name <text>', 'its purpose; an empty text removes the name')
    .option('--expires <when>', 'valid until this UTC day or moment, or "never"', optionOr('never', momentOption))
    .option('--models <patterns>', 'models that it may call, or "all"', optionOr('all', modelsOption))
    .hook('preAction', () => {
      const { name, expires, models } = update.opts<UpdateOptions>();
      if (name === undefined && expires === undefined && models === undefined) {
        update.error('error: give --name, --expires, --models, or several of them');
      }
    });
  accountsCommand<UpdateOptions>(update, async (accounts, options, [id = '']) =>
    answer(accounts, await accounts.changeKey(id, detailsOf(options), byOperator())),
  );

  const budget = withBudget(group.command('budget').description('set the budget of a key, or clear it'), 'with the key')
    .argument('<id>', 'id of the key')
    .option('--clear', 'remove the budget')
    .hook('preAction', () => {
      const options = budget.opts<BudgetOptions & { readonly clear?: true }>();
      if ((options.budget === undefined) === (options.clear !== true)) {
        budget.error('error: give either --budget with --period, or --clear');
      }
    });
  accountsCommand<BudgetOptions>(budget, async (accounts, options, [id = '']) =>
    answer(accounts, await accounts.changeKey(id, { budget: budgetOf(budget, options) }, byOperator())),
  );

  thresholdsCommand(
    group,
    { about: 'a budget', argument: ['<id>', 'id of the key'] },
    (accounts, object, { thresholds, by }) => accounts.setKeyThresholds(object, thresholds, by),
  );
}

function createCommand(group: Command): void {
  const create = withFields(
    withBudget(
      group.command('create').description('create a key; Weir shows its text only once'),
      'with the key',
    ).requiredOption('--workspace <workspace>', 'name or id of the workspace that pays'),
    keyFields,
  )
    .option('--name <text>', 'its purpose')
    .option('--expires <when>', 'valid until this UTC day or moment: later requests get 401', momentOption)
    .option(
      '--models <patterns>',
      "models that it may call, by id and not by alias, such as 'org/*,org/model' (default: every model)",
      modelsOption,
    );
  accountsCommand<CreateOptions>(create, async (accounts, options) => {
    const wanted = { ...options, budget: budgetOf(create, options), expiresAt: options.expires };
    const publicUrl = options.json ? undefined : readPublicUrl();
    const { key, text } = await accounts.createKey(wanted, byOperator());
    // A new key has spent nothing.
    const { id, ...rest } = shownKey(key, new Map());
    // A script gets its answer at once, without a search for the gateway.
    const gateway = options.json ? undefined : await findOwnGateway({ data: options.data, publicUrl }, key);
    return { json: { id, key: text, ...rest }, text: shownOnce(key, text, gateway) };
  });
}

/** The details that the options name, and no others. A detail that is present and undefined is removed from the key. */
function detailsOf({ name, expires, models }: UpdateOptions): KeyDetails {
  return {
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresAt: expires === absent ? undefined : expires }),
    ...(models !== undefined && { models: models === absent ? undefined : models }),
  };
}

async function answer(accounts: Pick<Accounts, 'spentBy'>, key: KeyRecord): Promise<Answer> {
  const spent = await accounts.spentBy([key.id], Date.now());
  return { json: shownKey(key, spent), text: tableOf([key], spent) };
}

const tableOf =
  (keys: readonly KeyRecord[], spent: ReadonlyMap<string, Money>) =>
  (width: TableWidth): string => {
    const now = Date.now();
    return textTable(
      [
        ...[
          'ID',
          wide('PREFIX'),
          'WORKSPACE',
          'NAME',
          'STATUS',
          'BUDGET USD',
          wide('#SPENT USD'),
          wide('#RATE'),
          wide('#BURST'),
          wide('#TOKENS/MIN'),
          wide('MODELS'),
        ],
        // Not cut: numbers never are.
        ...['#EXPIRES', wide('CREATED'), wide('LAST SETTLED')],
      ],
      keys.map(({ expiresAt, models, createdAt, lastUsedAt, ...key }) => [
        key.id,
        key.prefix ?? '-',
        key.workspaceName,
        key.name ?? '-',
        key.status,
        key.budget ? budgetText(key.budget, width) : '-',
        formatUsd(spent.get(key.id) ?? 0n),
        `${key.rate}`,
        `${key.burst}`,
        `${key.tokensPerMinute ?? '-'}`,
        models?.join(',') ?? 'all',
        expiresAt === undefined ? 'never' : `${momentText(expiresAt, width)}${expiresAt <= now ? ' (over)' : ''}`,
        new Date(createdAt).toISOString(),
        lastUsedAt === undefined ? 'never' : new Date(lastUsedAt).toISOString(),
      ]),
      width,
    );
  };

function shownOnce(key: KeyRecord, text: string, gateway: OwnGateway | undefined): string {
  const { baseUrl = 'http://HOST:PORT/v1', model = 'ORG/MODEL' } = gateway ?? {};
  const unknown = [
    ...(gateway === undefined ? ['HOST:PORT: no gateway runs with this data folder, put in the address of yours'] : []),
    ...(gateway?.model === undefined ? ['ORG/MODEL: put in a model that GET /v1/models lists'] : []),
  ];
  const hints = unknown.map((hint) => `\n  ${hint}`).join('');
  const insecure = /^https:\/\/(?:127\.|\[::1\])/.test(baseUrl) ? ' -k' : '';
  return `The key ${key.id} of the workspace "${key.workspaceName}". It is shown this once; only its hash is kept.

  ${text}

Any client of the chat-completions format works with it:

  export OPENAI_BASE_URL=${baseUrl} OPENAI_API_KEY=${text}
  curl${insecure} $OPENAI_BASE_URL/chat/completions -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \\
    -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'${hints === '' ? '' : `\n${hints}`}`;
}
