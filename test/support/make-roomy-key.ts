// `node make-roomy-key.ts DATA`: makes a workspace and a key that no limit of rate or concurrency stops, and prints the key. One process,
// where `weir workspace create` and `weir key create` are two: a quarter of all test files with a gateway need such a key.
import { byOperator } from '../../src/programs/commands/accounts-command.ts';
import { parseSpendable } from '../../src/core/money.ts';
import { databaseLocation } from '../../src/books/databases/database-location.ts';
import { openAccounts } from '../../src/books/store/open-accounts.ts';

const [, , data = ''] = process.argv;
const most = 100_000;

const accounts = await openAccounts(databaseLocation({ data }), { missing: 'refuse', user: 'operator' });
try {
  await accounts.createWorkspace(
    { name: 'roomy', credit: parseSpendable('1000') ?? 0n, maxInFlight: most },
    byOperator(),
  );
  const { text } = await accounts.createKey({ workspace: 'roomy', rate: most, burst: most }, byOperator());
  process.stdout.write(text);
} finally {
  await accounts.close();
}
