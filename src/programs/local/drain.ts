import { systemClock, pause } from '../../process/clock.ts';
import type { EnvoyAdmin } from '../../control/envoy/runtime/admin.ts';

const usualTimeoutMs = 30_000;
const pollMs = 50;

/**
 * Makes Envoy accept no new callers, and waits until the open requests end, for up to 30 s or until `now` is aborted.
 * Never rejects.
 */
export async function drainEdge(
  admin: EnvoyAdmin,
  { now, report }: { readonly now: AbortSignal; readonly report: (line: string) => void },
): Promise<void> {
  const deadline = systemClock.elapsed() + usualTimeoutMs;
  try {
    await admin.drain();
    let open = await admin.openRequests();
    if (open > 0)
      report(`Finishing ${open} open request(s), for up to ${usualTimeoutMs / 1000} s; Ctrl-C again ends them now.`);
    while (open > 0 && !now.aborted && systemClock.elapsed() < deadline) {
      await pause(pollMs, now);
      open = await admin.openRequests();
    }
    if (open > 0) report(`Ending ${open} open request(s).`);
  } catch {
    // Envoy is gone or was never up, so there is no caller to wait for.
  }
}

/**
 * Makes Envoy announce its end, waits while load balancers notice (`holdMs`), and then waits for the open requests, up
 * to `timeoutMs`. Resolves to the number of requests that are still open, or to `away` if there is no Envoy. Never
 * rejects. New callers are still served: the listener stays open, so Envoy need not be restarted if it does not end
 * after all.
 */
export async function finishRequests(
  admin: EnvoyAdmin,
  { holdMs, timeoutMs }: { readonly holdMs: number; readonly timeoutMs: number },
): Promise<number | 'away'> {
  try {
    await admin.announceEnd();
    await pause(holdMs);
    const deadline = systemClock.elapsed() + timeoutMs;
    for (;;) {
      const open = await admin.openRequests();
      if (open === 0 || systemClock.elapsed() >= deadline) return open;
      await pause(pollMs);
    }
  } catch {
    return 'away';
  }
}
