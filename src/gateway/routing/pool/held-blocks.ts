import type { PoolPrompt } from '../../../core/pool-prompt.ts';
import type { CapacityReport } from '../../core/pool-report.ts';
import { type BlockNumbers, createBlockNumbers } from './block-numbers.ts';

/**
 * The blocks of prompts that an endpoint most likely has in its prefix cache: those of the prompts it was sent, except the ones that
 * were used least recently. Its size follows the engine's own reports.
 */
export type HeldBlocks = ReturnType<typeof createHeldBlocks>;

export interface CachedReport {
  readonly expected: number;
  /** In tokens as the engine counts them. */
  readonly actual: number;
  /** How many tokens of a `PoolPrompt` are one token of the engine. An estimate without the model's tokenizer can be far from one. */
  readonly scale: number;
}

/** The size that an engine is assumed to have before its first report, tokens: as for a model of 32 billion weights on two GPUs. */
const firstCapacity = 300_000;
const minCapacity = 10_000;
/** The upper bounds bound the memory of the map: about 1.4 MiB for each endpoint. */
const maxCapacity = 4_000_000;
const maxBlocks = 16_384;
/** A report changes the size by this factor. Single reports may have other causes, for example a preempted prompt. */
const stepFactor = 1.05;
/** Engines have blocks of their own, of up to 256 of their tokens, and compute the last one again. */
const tolerance = 512;

interface HeldState {
  readonly numbers: BlockNumbers;
  /** Of each block, by its number. */
  readonly tokens: number[];
  /** How many prompts under way have the block. An engine cannot evict these blocks. */
  readonly uses: number[];
  /**
   * The idle blocks, which no prompt under way has, in a circle that begins and ends with 0: the one used least recently is `newer[0]`,
   * and a block comes after the blocks behind it.
   */
  readonly newer: number[];
  readonly older: number[];
  capacity: number;
  isCapacityLearned: boolean;
  untakenSteps: number;
  heldTokens: number;
}

export function createHeldBlocks() {
  const state: HeldState = {
    numbers: createBlockNumbers(),
    tokens: [0],
    uses: [0],
    newer: [0],
    older: [0],
    capacity: firstCapacity,
    isCapacityLearned: false,
    untakenSteps: 0,
    heldTokens: 0,
  };
  return {
    /** How many tokens of a prompt's beginning are held. */
    tokensOf: ({ digests, ends }: PoolPrompt): number => {
      const isHeld = (count: number): boolean => state.numbers.of(digests[count - 1] ?? -1) !== 0;
      // An earlier block is always held at least as long as a later one. Most endpoints hold little of a prompt, so that the search
      // begins with the first block and doubles its steps.
      let held = 0;
      let missing = 1;
      while (missing <= digests.length && isHeld(missing)) {
        held = missing;
        missing *= 2;
      }
      missing = Math.min(missing, digests.length + 1);
      while (missing - held > 1) {
        const middle = (held + missing) >> 1;
        if (isHeld(middle)) held = middle;
        else missing = middle;
      }
      return held === 0 ? 0 : (ends[held - 1] ?? 0);
    },
    /** A prompt goes to the endpoint, and is in use until `leave`. */
    use: ({ digests, ends }: PoolPrompt): void => {
      for (const [index, block] of digests.entries())
        useBlock(state, block, (ends[index] ?? 0) - (ends[index - 1] ?? 0));
      forget(state);
    },
    leave: ({ digests }: PoolPrompt): void => {
      for (let at = digests.length - 1; at >= 0; at -= 1) leaveBlock(state, digests[at] ?? -1, { isComputed: true });
      forget(state);
    },
    /** Like `leave`, for a prompt that was most likely not computed. Of its blocks, only those up to `heldTokens` are held. */
    fail: ({ digests, ends }: PoolPrompt, keptTokens: number): void => {
      for (let at = digests.length - 1; at >= 0; at -= 1)
        leaveBlock(state, digests[at] ?? -1, { isComputed: (ends[at] ?? 0) <= keptTokens });
      forget(state);
    },
    /** How many tokens of a prompt were expected to be held, and how many the engine has reported. */
    reported: ({ expected, actual, scale }: CachedReport): void => {
      const more = actual - expected / scale;
      const change = more < -tolerance ? -1 : more > tolerance ? 1 : 0;
      if (change === 0) return;
      state.untakenSteps += change;
      resize(state, state.capacity * stepFactor ** change);
    },
    /** The size that follows from the reports so far, tokens. */
    capacity: (): number => state.capacity,
    /** Takes the net number of larger and smaller reports since the last call. */
    takeSteps: (): number => {
      const taken = state.untakenSteps;
      state.untakenSteps = 0;
      return taken;
    },
    /** Another replica has had so many larger reports more than smaller ones, and knows the engine to have this size. */
    reportedElsewhere: ({ steps, capacityTokens }: CapacityReport): void => {
      if (!state.isCapacityLearned && capacityTokens !== state.capacity) resize(state, capacityTokens);
      else if (steps !== 0) resize(state, state.capacity * stepFactor ** steps);
    },
    size: (): number => state.numbers.size(),
  };
}

function forget(state: HeldState): void {
  for (let oldest = state.newer[0] ?? 0; oldest !== 0; oldest = state.newer[0] ?? 0) {
    if (state.heldTokens <= state.capacity && state.numbers.size() <= maxBlocks) return;
    unlink(state, oldest);
    remove(state, oldest);
  }
}

function remove(state: HeldState, block: number): void {
  state.heldTokens -= state.tokens[block] ?? 0;
  state.numbers.remove(block);
}

function unlink(state: HeldState, block: number): void {
  const [after, before] = [state.newer[block] ?? 0, state.older[block] ?? 0];
  state.newer[before] = after;
  state.older[after] = before;
}

function linkAsNewest(state: HeldState, block: number): void {
  const before = state.older[0] ?? 0;
  state.newer[before] = block;
  state.older[block] = before;
  state.newer[block] = 0;
  state.older[0] = block;
}

function resize(state: HeldState, size: number): void {
  state.isCapacityLearned = true;
  state.capacity = Math.min(maxCapacity, Math.max(minCapacity, size));
  forget(state);
}

function useBlock(state: HeldState, digest: number, blockTokens: number): void {
  const known = state.numbers.of(digest);
  if (known === 0) {
    const block = state.numbers.add(digest);
    state.tokens[block] = blockTokens;
    state.uses[block] = 1;
    state.heldTokens += blockTokens;
    return;
  }
  if (state.uses[known] === 0) unlink(state, known);
  state.uses[known] = (state.uses[known] ?? 0) + 1;
}

/** `isComputed`: the engine keeps the block. */
function leaveBlock(state: HeldState, digest: number, { isComputed }: { readonly isComputed: boolean }): void {
  const block = state.numbers.of(digest);
  const users = state.uses[block] ?? 0;
  if (block === 0 || users === 0) return;
  state.uses[block] = users - 1;
  if (users > 1) return;
  if (isComputed) linkAsNewest(state, block);
  else remove(state, block);
}
