import type { Command } from 'commander';
import type { TagBudgetRecord } from '../../core/account.ts';
import type { Thresholds } from '../../core/alert.ts';
import { formatUsd } from '../../core/money.ts';
import { shownTagBudget } from '../../books/core/shown.ts';
import { accountsCommand, type Answer, byOperator } from './accounts-command.ts';
import { budgetOf, type BudgetOptions, budgetText, withBudget } from './budget-options.ts';
import { textTable } from './tables.ts';
import { thresholdsArgument } from './thresholds.ts';

interface Options extends BudgetOptions {
  readonly tag?: string;
  readonly clear?: true;
  readonly thresholds?: Thresholds | 'default';
}

/** Adds `budget` to the commands on workspaces: the budgets of tags. */
export function tagBudgetCommand(group: Command): void {
  const command = withBudget(
    group.command('budget').description('list a workspace’s tag budgets; with --tag, set one or clear it'),
    'on requests with the tag',
  )
    .argument('<workspace>', 'name or id')
    .option('--tag <name=value>', 'the tag, as in the header x-weir-tags')
    .option('--clear', 'remove the budget')
    .option(
      '--thresholds <percents>',
      'percentages of the budget that cause an alert, such as 50,80,95; none, or default',
      thresholdsArgument,
    )
    .hook('preAction', () => {
      const { tag, budget, clear, thresholds } = command.opts<Options>();
      if (thresholds !== undefined && budget === undefined)
        command.error('error: give --thresholds with --tag and --budget');
      if ((tag === undefined) === (budget === undefined && clear === undefined) && (budget === undefined || !clear))
        return;
      command.error('error: give --tag with --budget and --period, --tag with --clear, or neither');
    });
  accountsCommand<Options>(command, async (accounts, options, [workspace = '']) => {
    const { tag, thresholds } = options;
    if (tag !== undefined) {
      const budget = budgetOf(command, options);
      return answer(await accounts.setTagBudget(workspace, { tag, budget, thresholds }, byOperator()));
    }
    const { id } = await accounts.findWorkspace(workspace);
    return answer(await accounts.listTagBudgets(id, byOperator().now));
  });
}

function answer(budgets: readonly TagBudgetRecord[]): Answer {
  return {
    json: budgets.map(shownTagBudget),
    text: textTable(
      ['TAG', 'BUDGET USD', '#SPENT USD', 'ALERTS AT %'],
      budgets.map(({ tag, budget, spent, thresholds }) => [
        ...[tag, budgetText(budget), formatUsd(spent)],
        thresholds.join(',') || 'none',
      ]),
    ),
  };
}
