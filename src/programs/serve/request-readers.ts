import { join } from 'node:path';
import { startPrepareWorker } from '../../gateway/prepare/prepare-in-worker.ts';
import { createTurnShare } from '../../process/turns.ts';
import { startThread } from '../../process/worker-thread.ts';
import type { AcceptServices } from '../../gateway/request/accept-request.ts';
import { prepareHere } from '../../gateway/request/prepare.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { startStructureChecker } from '../../gateway/structured-output/checker/start-structure-checker.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { startTokenizers } from '../../gateway/tokenizer/start-tokenizers.ts';
import { tokenizerLoader } from './logged-parts.ts';
import type { openWebSearch } from './web-search.ts';

/** Bodies up to this size are read on the event loop, which takes about a millisecond, and twenty for a hostile body. */
const maxBodyHereBytes = 128 * 1024;
/** Reading bodies takes at most this much of one turn of the event loop, except for the last body. */
const bodiesPerTurnMs = 5;

/** Starts what reads, counts and checks the texts of requests and answers: on the event loop, and in threads. */
export function startReaders(
  settings: Settings,
  {
    sealing,
    search,
    log,
    secret,
  }: Pick<Awaited<ReturnType<typeof openWebSearch>>, 'sealing' | 'search'> & {
    readonly log: PartLog;
    readonly secret: () => string;
  },
) {
  const tokenizerRoot = settings.WEIR_TOKENIZERS ?? join(settings.WEIR_DATA, 'tokenizers');
  const reading = { imageHosts: settings.WEIR_IMAGE_HOSTS, keepsBillingLines: settings.WEIR_BILLING_LINES === 'keep' };
  const worker = startPrepareWorker({ startThread, tokenizerRoot, ...reading, secret, sealFiles: sealing });
  const tokenizers = startTokenizers({ root: tokenizerRoot, startThread });
  const structures = startStructureChecker({ startThread });
  const readInTurn = createTurnShare({ budgetMs: bodiesPerTurnMs });
  const prepare: AcceptServices['prepare'] = (body, surface, how) =>
    body.length <= maxBodyHereBytes
      ? readInTurn(() =>
          prepareHere(body, {
            ...{ surface, ...how, secret: secret() },
            ...reading,
            countPrompt: tokenizers.countPrompt,
            ...(search && { seal: search.seal, traces: search.seal }),
          }),
        )
      : worker.prepare(body, surface, how);
  return {
    ...{ tokenizers, structures, prepare },
    loadTokenizers: tokenizerLoader(tokenizers, log),
    close: async (): Promise<void> => {
      await worker.close();
      await tokenizers.close();
      await structures.close();
    },
  };
}
