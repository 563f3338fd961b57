import { networkOf } from '../../core/address.ts';
import { type UploadOwner, uploadStepBytes } from '../../core/exchange.ts';
import { Failure } from '../../core/failure.ts';
import type { Headers } from '../../core/headers.ts';
import { addTo } from '../../core/sums.ts';

/** How many bytes of bodies may be in memory at once. */
export type UploadLimits = Readonly<ReturnType<typeof uploadLimits>>;

/**
 * An eighth of each bound is kept for uploads of a single step (`uploadStepBytes`), so that small requests pass while large ones
 * fill the rest.
 */
const largeShare = 7 / 8;

/** The least that a client may be asked to wait, since it is not known when an upload will end. */
const retrySeconds = 1;

/**
 * The limits of a process that may use so much memory: all bodies together may have half of it, because a body that was read is there
 * twice while it is sent to an engine. Those of one workspace or address may have half of that. Ten bodies of 32 MiB at once need a
 * memory limit of 1.5 GiB, that is a container or machine of 3 GiB.
 */
export function uploadLimits(memoryLimitBytes: number) {
  const totalBytes = Math.floor(memoryLimitBytes / 2);
  return { totalBytes, workspaceBytes: Math.floor(totalBytes / 2), addressBytes: Math.floor(totalBytes / 2) };
}

/** The memory of all bodies in flight. */
export function createBodyCharges(limits: UploadLimits) {
  const byWorkspace = new Map<string, number>();
  const byAddress = new Map<string, number>();
  let total = 0;
  return {
    bytes: (): number => total,
    /** Whether there is no room even for a small body. */
    isFull: (): boolean => total + uploadStepBytes > limits.totalBytes,
    /** `headers` are those of a refusal that the owner caused. */
    open: ({ workspaceId, address }: UploadOwner, headers: Headers) => {
      const network = address === undefined ? undefined : networkOf(address);
      let held = 0;
      let isOpen = true;

      const tooMany = (bound: 'workspace' | 'address', message: string): Failure =>
        new Failure('rate_limited', message, { retryAfterSeconds: retrySeconds, headers, limit: `upload-${bound}` });

      function charge(more: number): void {
        if (more === 0) return;
        total += more;
        held += more;
        addTo(byWorkspace, workspaceId, more);
        if (network !== undefined) addTo(byAddress, network, more);
      }

      /** Returns how much more the bytes are than what the body has. */
      function moreFor(bytes: number): number {
        const steps = Math.max(uploadStepBytes, inSteps(bytes));
        const more = steps - held;
        if (!isOpen || more <= 0) return 0;
        const share = steps > uploadStepBytes ? largeShare : 1;
        if ((byWorkspace.get(workspaceId) ?? 0) + more > limits.workspaceBytes * share)
          throw tooMany('workspace', 'This workspace sends too many large request bodies at once. Wait and retry.');
        if (network !== undefined && (byAddress.get(network) ?? 0) + more > limits.addressBytes * share)
          throw tooMany('address', 'This address sends too many large request bodies at once. Wait and retry.');
        if (total + more > limits.totalBytes * share)
          throw new Failure('overloaded', 'The service has no room for this request body right now.', {
            limit: 'upload-total',
          });
        return more;
      }

      return {
        /** Throws a refusal if there is no room for so many bytes of this body. */
        check: (bytes: number): void => void moreFor(bytes),
        /** Charges so many bytes, unless it has more. Throws like `check`. */
        hold: (bytes: number): void => charge(moreFor(bytes)),
        /** Charges so many bytes in place of what it has. Never refuses. False: it was closed before. */
        keep: (bytes: number): boolean => {
          if (isOpen) charge(inSteps(bytes) - held);
          return isOpen;
        },
        close: (): void => {
          charge(-held);
          isOpen = false;
        },
        isOpen: (): boolean => isOpen,
      };
    },
  };
}

const inSteps = (bytes: number): number => Math.ceil(bytes / uploadStepBytes) * uploadStepBytes;
