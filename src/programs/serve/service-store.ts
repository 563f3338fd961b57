import { join } from 'node:path';
import { tryLock } from '../../process/lock.ts';
import type { Settings } from '../../process/settings/settings.ts';
import type { StoreClientOptions } from '../../books/store/connect-store.ts';
import { databaseLocation } from '../../books/databases/database-location.ts';
import { openStore, type StoreOptions } from '../../books/store/open-store.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { createStoreLog } from '../../telemetry/ops/telemetry.ts';
import type { ProgramSurroundings } from '../command-line/run-program.ts';
import { checkFile } from './logged-parts.ts';

/** Opens the accounts and the ledger of a service, and begins to check the file that they are in. */
export async function openServiceStore(
  settings: Settings,
  {
    log,
    thread,
    onCommit,
    onChanged,
    fatal,
  }: Pick<StoreClientOptions, 'onCommit'> &
    Pick<StoreOptions, 'thread'> &
    Pick<ProgramSurroundings, 'fatal'> & { readonly log: PartLog; readonly onChanged: () => void },
) {
  const { WEIR_DATA: data, WEIR_DATABASE_URL: url } = settings;
  const location = databaseLocation(url === undefined ? { data } : { url });
  const logStatus = createStoreLog(log);
  const store = await openStore({
    ...{ thread, location, tryLock, onCommit },
    journal: join(data, 'journal'),
    retentionDays: settings.WEIR_LEDGER_RETENTION_DAYS,
    onStatus: (status) => {
      logStatus(status);
      onChanged();
    },
    onForeignFile: (path) => log.warn({ path }, 'ignoring a file that is not part of the journal'),
  });
  void store.lost.then(fatal);
  const fileCheck = location.kind === 'sqlite' ? checkFile(location.file, log) : undefined;
  return { store, location, fileCheck };
}
