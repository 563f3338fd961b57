import { type Command, InvalidArgumentError, Option } from 'commander';
import { expectedMonth, monthOf, type MonthStatement, statementRows } from '../../books/core/statement.ts';
import { accountsCommand } from './accounts-command.ts';
import { csvTable, type TableWidth, textTable, wide } from './tables.ts';

/** Adds `statement` to the command line. */
export function statementCommand(program: Command): void {
  const command = program
    .command('statement')
    .description(
      'print a workspace’s statement of a month: opening balance, credits, usage, corrections, closing balance',
    )
    .argument('<workspace>', 'the workspace, by name or id')
    .argument('<month>', 'a month in UTC such as 2026-11', monthOperand)
    .addOption(new Option('--format <format>', 'output format for scripts').choices(['json', 'csv']));
  accountsCommand<{ readonly format?: 'json' | 'csv' }>(
    command,
    async (accounts, { format }, [workspace = '', month = '']) => {
      const { id } = await accounts.findWorkspace(workspace);
      const statement = await accounts.statement(id, { month, now: Date.now() });
      const [titles = [], ...rows] = statementRows(statement);
      return {
        json: statement,
        text: (width) =>
          format === undefined
            ? textOf(statement, width)
            : format === 'json'
              ? JSON.stringify(statement)
              : csvTable(titles.map(String), rows),
      };
    },
  );
}

function monthOperand(text: string): string {
  const month = monthOf(text);
  if (month === undefined) throw new InvalidArgumentError(`It must be ${expectedMonth}.`);
  return month;
}

const shownColumns = [
  ...(['line', 'tag', 'id', 'name', 'when', 'amount', 'requests'] as const),
  ...(['prompt_tokens', 'completion_tokens', 'cost', 'share', 'cost_before'] as const),
];
const titlesOfText = [
  ...['LINE', 'TAG', wide('ID'), 'NAME', 'WHEN', '#AMOUNT', '#REQUESTS'],
  ...[wide('#PROMPT'), wide('#COMPLETION'), '#COST', wide('#SHARE %'), wide('#BEFORE')],
];

/** The rows of the CSV as a table. */
function textOf(statement: MonthStatement, width: TableWidth): string {
  const { workspace, workspace_id: id, month, state, labels } = statement;
  const [titles = [], ...rows] = statementRows(statement);
  const cells = rows.map((row) => {
    const cell = (column: string): string => String(row[titles.indexOf(column)] ?? '');
    const { name, when } = { name: cell('name') || cell('id'), when: cell('when').slice(0, 10) };
    return shownColumns.map((column) => (column === 'name' ? name : column === 'when' ? when : cell(column)));
  });
  return [
    `Statement of ${workspace} (${id}) for ${month}, USD${state === 'open' ? '; open: it may still change' : ''}`,
    ...Object.entries(labels).map(([name, value]) => `${name}: ${value}`),
    textTable(titlesOfText, cells, width),
  ].join('\n');
}
