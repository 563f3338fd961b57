import { systemClock, pause } from '../adapters/process/clock.ts';
import type { EnvoyAdmin } from '../adapters/process/envoy-admin.ts';

const patienceMs = 30_000;
const pollMs = 50;

/** Lets no new caller in and waits for the open requests to end, up to 30 s or until `now` is aborted. Never rejects. */
export async function drainEdge(
  admin: EnvoyAdmin,
  { now, report }: { readonly now: AbortSignal; readonly report: (line: string) => void },
): Promise<void> {
  const deadline = systemClock.elapsed() + patienceMs;
  try {
    await admin.drain();
    let open = await admin.openRequests();
    if (open > 0)
      report(`Finishing ${open} open request(s), for up to ${patienceMs / 1000} s; Ctrl-C again ends them now.`);
    while (open > 0 && !now.aborted && systemClock.elapsed() < deadline) {
      await pause(pollMs, now);
      open = await admin.openRequests();
    }
    if (open > 0) report(`Ending ${open} open request(s).`);
  } catch {
    // Envoy is gone or was never up: then there is no caller to wait for.
  }
}
