import type { JsonScan } from '../../../core/json-scan.ts';
import type { SearchResult } from '../../../core/web-search.ts';
import { customInputOf } from '../custom-tools.ts';
import { writeAction } from './search-items.ts';

export type OutputPart =
  | {
      readonly type: 'output_text';
      text: string;
      /** JSON each. */
      readonly annotations: string[];
      readonly logprobs: unknown[];
    }
  | { readonly type: 'refusal'; text: string };

interface Place {
  readonly id: string;
  /** Among the items of the answer. */
  readonly index: number;
}

/** An item of an answer that is being assembled. */
export type OutputItem = Place &
  (
    | { readonly kind: 'message'; readonly parts: OutputPart[] }
    | { readonly kind: 'reasoning'; text: string }
    | CallParts
    | { readonly kind: 'search'; readonly input: string; result: SearchResult | undefined }
  );

interface CallParts {
  readonly kind: 'function' | 'custom';
  readonly callId: string;
  readonly name: string;
  readonly namespace: string | undefined;
  /** The arguments as the model wrote them. */
  text: string;
  /** Finds the end of the arguments. */
  readonly scan: JsonScan;
}

export type OutputCall = Place & CallParts;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The prefixes of the ids of items. Clients read the type of an item from the prefix. */
export const idPrefixes: Readonly<Record<OutputItem['kind'], string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function: 'fc_',
  custom: 'ctc_',
  search: 'ws_',
};

/** The form of the reasoning. */
export interface TraceWriting {
  readonly asSummary: boolean;
  /** Undefined: the caller gets no sealed copy. */
  readonly sealTrace: ((text: string) => string) | undefined;
}

export function writePart(part: OutputPart): string {
  if (part.type === 'refusal') return JSON.stringify({ type: part.type, refusal: part.text });
  const { text, annotations, logprobs } = part;
  const rest = `"annotations":[${annotations.join(',')}],"logprobs":${JSON.stringify(logprobs)}`;
  return `{"type":"output_text","text":${JSON.stringify(text)},${rest}}`;
}

/** An item as JSON. At its start an item is empty; a search has its query from the start. */
export function writeItem(item: OutputItem, status: ItemStatus, trace: TraceWriting): string {
  const id = JSON.stringify(item.id);
  const isNew = status === 'in_progress';
  switch (item.kind) {
    case 'message': {
      const parts = isNew ? '' : item.parts.map(writePart).join(',');
      return `{"id":${id},"type":"message","status":"${status}","role":"assistant","content":[${parts}]}`;
    }
    case 'reasoning': {
      const part = (type: string): string => (isNew ? '' : JSON.stringify({ type, text: item.text }));
      const shown = trace.asSummary
        ? `"summary":[${part('summary_text')}]`
        : `"summary":[],"content":[${part('reasoning_text')}]`;
      // An unfinished trace is not sealed: the answer is not to be continued from it.
      const sealed = trace.sealTrace === undefined || status !== 'completed' ? null : trace.sealTrace(item.text);
      const copy = sealed === null ? '' : `,"encrypted_content":${JSON.stringify(sealed)}`;
      return `{"id":${id},"type":"reasoning","status":"${status}",${shown}${copy}}`;
    }
    case 'function':
    case 'custom': {
      const { callId, name, namespace } = item;
      const text = isNew ? '' : item.kind === 'function' ? item.text : customInputOf(item.text);
      const type = item.kind === 'function' ? 'function_call' : 'custom_tool_call';
      const field = item.kind === 'function' ? 'arguments' : 'input';
      return `{"id":${id},"type":"${type}","status":"${status}",${JSON.stringify({ call_id: callId, namespace, name, [field]: text }).slice(1)}`;
    }
    case 'search': {
      const ended = item.result?.kind === 'error' ? 'failed' : status;
      return `{"id":${id},"type":"web_search_call","status":"${ended}","action":${writeAction(item.input, item.result)}}`;
    }
  }
}
