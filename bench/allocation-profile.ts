import { placeOf, partOf, stageOf, type CallFrame } from './cpu-profile.ts';

/** What we read of the Chrome DevTools protocol's `HeapProfiler.SamplingHeapProfile`: a tree of calls. */
export interface AllocationProfile {
  readonly head: AllocationNode;
}

interface AllocationNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly AllocationNode[];
}

export interface AllocationSummary {
  readonly bytes: number;
  /** Most bytes first. */
  readonly lines: readonly { readonly name: string; readonly place: string; readonly bytes: number }[];
  /** The same bytes by the stage of ours that was at work, most first. */
  readonly stages: readonly { readonly stage: string; readonly bytes: number }[];
}

/** Adds up allocated bytes by function and by stage. V8 counts the memory of its heap, and not that of buffers outside. */
export function summarizeAllocations({ head }: AllocationProfile, limit = 10): AllocationSummary {
  const functions = new Map<string, { readonly name: string; readonly place: string; bytes: number }>();
  const stages = new Map<string, number>();
  let bytes = 0;
  const walk = (node: AllocationNode, outer: string | undefined): void => {
    const { functionName, url, lineNumber } = node.callFrame;
    const stage = stageOf(url) ?? outer;
    if (node.selfSize > 0) {
      bytes += node.selfSize;
      const place = placeOf(url, lineNumber);
      const line = functions.get(`${functionName}\n${place}`) ?? {
        name: functionName || '(anonymous)',
        place,
        bytes: 0,
      };
      line.bytes += node.selfSize;
      functions.set(`${functionName}\n${place}`, line);
      const part = stage ?? partOf(functionName, url);
      stages.set(part, (stages.get(part) ?? 0) + node.selfSize);
    }
    for (const child of node.children) walk(child, stage);
  };
  walk(head, undefined);
  return {
    bytes,
    lines: [...functions.values()].toSorted((a, b) => b.bytes - a.bytes).slice(0, limit),
    stages: [...stages]
      .map(([stage, size]) => ({ stage, bytes: size }))
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, limit),
  };
}
