import type { Money } from '../../core/money.ts';

/** The money that workspaces and keys have left, and how fast they spend it. */
export interface MoneyFigures {
  /** The workspaces that spent most in the last seven days, the largest first. */
  readonly workspaces: readonly WorkspaceMoney[];
  /** The sum of all others. */
  readonly otherWorkspaces: Omit<WorkspaceMoney, 'name'> & { readonly count: number };
  /** Keys with a budget, of which the largest share is spent, the largest first. */
  readonly keys: readonly KeyMoney[];
}

export interface WorkspaceMoney {
  readonly name: string;
  readonly balance: Money;
  /** The balance and the credit limit: at zero, requests are refused. */
  readonly available: Money;
  /** Mean of the last seven days, or of the age of a younger workspace, at least a day. */
  readonly spentPerDay: Money;
}

export interface KeyMoney {
  readonly id: string;
  readonly workspace: string;
  /** Spent in the current period of its budget, and of how much. */
  readonly spent: Money;
  readonly limit: Money;
}
