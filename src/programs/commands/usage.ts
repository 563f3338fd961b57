import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Accounts } from '../../books/store/open-accounts.ts';
import {
  type LedgerFilter,
  type UsageDimension,
  type UsageLine,
  usageDimensions,
} from '../../books/core/administration.ts';
import { shownUsage } from '../../books/core/shown.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { tagNameOf } from '../../core/tags.ts';
import { formatUsd } from '../../core/money.ts';
import { accountsCommand, type Answer } from './accounts-command.ts';
import { plainValue, requestFields } from '../../books/core/request-fields.ts';
import { csvTable, textTable, wide } from './tables.ts';
import { countOption, momentOption } from './option-values.ts';

const usualDimensions: readonly UsageDimension[] = ['workspace', 'key', 'model', 'day'];

interface UsageOptions {
  readonly by: readonly UsageDimension[];
  readonly workspace?: string;
  readonly key?: string;
  readonly model?: string;
  readonly tag?: string;
  readonly since?: number;
  readonly until?: number;
  readonly requests?: true;
  readonly limit: number;
}

/** Adds `usage` to the command line: the content of the ledger, summed or row by row. */
export function usageCommand(program: Command): void {
  const command = program
    .command('usage')
    .description('usage and cost: totals from the rollups, or single requests')
    .addOption(
      new Option('--by <dimensions>', 'dimensions of the sums')
        .argParser(dimensionsOption)
        .default(usualDimensions, usualDimensions.join(',')),
    )
    .option('--workspace <workspace>', 'only this workspace, by name or id')
    .option('--key <id>', 'only this key')
    .option('--model <id>', 'only this model')
    .option('--tag <name>', 'the tag by whose values `--by tag` sums; whole days only', tagNameOption)
    .option('--since <when>', 'only requests started at or after this UTC day or moment', momentOption)
    .option('--until <when>', 'only requests started before this UTC day or moment', momentOption)
    .option('--requests', 'list the requests, newest first, instead of summing them')
    .option('--limit <n>', 'at most this many requests', countOption(1), 100)
    .option('--csv', 'print comma-separated values, with the fields of --json');
  accountsCommand<UsageOptions>(command, async (accounts, options) => {
    const filter = await filterOf(accounts, options);
    return options.requests
      ? listAnswer(await accounts.listRequests(filter, options.limit), accounts)
      : reportAnswer(await accounts.usageReport(filter, options.by), {
          by: options.by,
          keyName: options.by.includes('key') ? await keyNames(accounts) : () => undefined,
        });
  });
}

function dimensionsOption(text: string): readonly UsageDimension[] {
  return text.split(',').map((name) => {
    const dimension = usageDimensions.find((known) => known === name.trim());
    if (dimension === undefined)
      throw new InvalidArgumentError(`It must be any of ${usageDimensions.join(', ')}, with commas.`);
    return dimension;
  });
}

function tagNameOption(text: string): string {
  const name = tagNameOf(text);
  if (name === undefined) throw new InvalidArgumentError('It must be the name of a tag.');
  return name;
}

/** Throws for a workspace or key that does not exist, because an empty report would hide a mistyped name. */
async function filterOf(accounts: Accounts, options: UsageOptions): Promise<LedgerFilter> {
  const { workspace, key, model, tag: tagName, since, until } = options;
  return {
    workspaceId: workspace === undefined ? undefined : (await accounts.findWorkspace(workspace)).id,
    keyId: key === undefined ? undefined : (await accounts.findKey(key)).id,
    modelId: model?.toLowerCase(),
    tagName,
    since,
    until,
  };
}

/** The names of keys by their ids; undefined: a key has none. */
async function keyNames(accounts: Accounts): Promise<(id: string | undefined) => string | undefined> {
  const names = new Map((await accounts.listKeys()).map(({ id, name }) => [id, name]));
  return (id) => names.get(id ?? '');
}

function reportAnswer(
  lines: readonly UsageLine[],
  { by, keyName }: Pick<UsageOptions, 'by'> & { readonly keyName: Awaited<ReturnType<typeof keyNames>> },
): Answer {
  const rows = lines.map((line) => {
    const shown = shownUsage(line);
    return by.includes('key') ? { ...shown, key_name: keyName(line.key) ?? null } : shown;
  });
  const counts = [
    'requests',
    'prompt_tokens',
    'completion_tokens',
    'cached_tokens',
    'reasoning_tokens',
    'web_searches',
    'cost',
  ] as const;
  const dimensions = by.flatMap((name) => (name === 'key' ? (['key', 'key_name'] as const) : [name]));
  const columns = [...dimensions, ...counts];
  return {
    json: rows,
    csv: csvTable(
      columns,
      rows.map((row: Readonly<Record<string, string | number | null | undefined>>) =>
        columns.map((column) => row[column] ?? null),
      ),
    ),
    text: (width) =>
      textTable(
        [
          ...by.map((name) => name.toUpperCase()),
          ...['#REQUESTS', wide('#PROMPT'), wide('#CACHED'), wide('#COMPLETION'), wide('#REASONING'), '#COST USD'],
        ],
        lines.map((line) => [
          ...by.map((name) => (name === 'key' ? (keyName(line.key) ?? line.key ?? '') : (line[name] ?? ''))),
          ...[line.requests, line.promptTokens, line.cachedTokens, line.completionTokens, line.reasoningTokens].map(
            String,
          ),
          formatUsd(line.cost),
        ]),
        width,
      ),
  };
}

async function listAnswer(outcomes: readonly SettledRequest[], accounts: Accounts): Promise<Answer> {
  const names = await accounts.workspaceNames();
  const requests = outcomes.map((outcome) => ({ outcome, workspace: names(outcome.workspaceId) }));
  return {
    json: requests.map((request) =>
      Object.fromEntries(requestFields.map((field) => [field.name, plainValue(field, request)])),
    ),
    csv: csvTable(
      requestFields.map(({ name }) => name),
      requests.map((request) => requestFields.map((field) => plainValue(field, request))),
    ),
    text: (width) =>
      textTable(
        [
          ...['STARTED', wide('REQUEST'), 'WORKSPACE', wide('KEY'), 'MODEL', 'OUTCOME'],
          ...[wide('#PROMPT'), wide('#COMPLETION'), wide('COUNTED BY'), '#MS', '#COST USD'],
        ],
        requests.map(({ outcome, workspace }) => [
          new Date(outcome.startedAt).toISOString(),
          outcome.requestId,
          workspace,
          outcome.keyId,
          outcome.modelId,
          outcome.kind,
          `${outcome.usage.promptTokens}`,
          `${outcome.usage.completionTokens}`,
          outcome.countedBy,
          `${outcome.durationMs}`,
          formatUsd(outcome.cost),
        ]),
        width,
      ),
  };
}
