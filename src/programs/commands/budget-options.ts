import type { Command } from 'commander';
import { type BudgetPeriod, budgetPeriods } from '../../core/account.ts';
import type { Budget } from '../../books/core/administration.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import { nameOption, usdOption } from './option-values.ts';
import type { TableWidth } from './tables.ts';

export interface BudgetOptions {
  readonly budget?: Money;
  readonly period?: BudgetPeriod;
}

/**
 * Adds the options of a budget. An amount without a period, or a period alone, is refused before the accounts are opened.
 * `spentOn` completes the description: what the money is spent with.
 */
export function withBudget(command: Command, spentOn: string): Command {
  return command
    .hook('preAction', () => void budgetOf(command, command.opts()))
    .option('--budget <usd>', `maximum spend ${spentOn} in a period`, usdOption)
    .option(
      '--period <period>',
      'period after which the budget resets, in UTC: day, week (from Monday), month, or total (never)',
      nameOption(budgetPeriods),
    );
}

export function budgetOf(command: Command, { budget, period }: BudgetOptions): Budget | undefined {
  if (budget === undefined && period === undefined) return undefined;
  if (budget === undefined || period === undefined) return command.error('error: --budget and --period go together');
  return { limit: budget, period };
}

/** `50 per month`, or in a table that fits `50/month`. */
export function budgetText({ limit, period }: Budget, width: TableWidth = 'wide'): string {
  if (width === 'fit') return `${formatUsd(limit)}${period === 'total' ? ' ' : '/'}${period}`;
  return `${formatUsd(limit)} per ${period}`.replace('per total', 'in total');
}
