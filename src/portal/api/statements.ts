import type { MonthStatement, StatementLine } from '../../books/core/statement.ts';

/** The answer to `GET /workspaces/:id/statements/:month`. The books keep it in this form. */
export type StatementObject = MonthStatement;
export type StatementLineObject = StatementLine;
