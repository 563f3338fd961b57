import { isObject, type JsonObject } from '../../../core/json.ts';
import { meansFault } from './finish-reason.ts';
import { numberOf, wordOf } from './read-field.ts';

/**
 * Returns the part of a parsed answer or chunk of a 200 that says that it failed: the answer, one of its choices, or the message of a
 * choice. Undefined: none does. A falsy `error` does not count, just like in clients.
 */
export function errorIn(answer: unknown): unknown {
  if (Array.isArray(answer)) {
    return answer.length > 0 && answer.every((item) => isObject(item) && errorIn(item) !== undefined)
      ? answer
      : undefined;
  }
  if (!isObject(answer)) return undefined;
  const { choices } = answer;
  if (saysFailure(answer) || isBareError(answer)) return answer;
  for (const choice of Array.isArray(choices) ? choices : [choices]) {
    if (!isObject(choice)) continue;
    const failed = [choice, choice['message'], choice['delta']].find((part) => isObject(part) && saysFailure(part));
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** Whether an answer, a choice or a message names its own failure. */
function saysFailure(part: JsonObject): boolean {
  const { error, errors, base_resp: base } = part;
  if (isFailure(error) || (Array.isArray(errors) && errors.some(isFailure))) return true;
  if (part['object'] === 'error' || part['type'] === 'error' || part['success'] === false) return true;
  // MiniMax · Qianfan
  if (isObject(base) && isErrorCode(base['status_code'])) return true;
  if (isErrorCode(part['error_code'])) return true;
  // OpenRouter: the provider's own word for the end of a choice, whose `finish_reason` is `stop` all the same.
  const native = wordOf(part['native_finish_reason']);
  if (native !== undefined && meansFault(native)) return true;
  const status = wordOf(part['status']);
  return status !== undefined && (/^[45]\d\d$/.test(status) || meansFault(status));
}

/** An error that says of itself that it is none (`{code: 0, message: null}`) does not count. */
function isFailure(error: unknown): boolean {
  if (!isObject(error)) return Boolean(error) && !(Array.isArray(error) && error.length === 0);
  const said = Object.values(error);
  return said.length === 0 || said.some((value) => (typeof value === 'object' ? value !== null : isErrorCode(value)));
}

/** Whether a code stands for an error. Hosts write 0, 200 or `Success` for none. */
function isErrorCode(code: unknown): boolean {
  const number = numberOf(code);
  if (number !== undefined) return number !== 0 && number !== 20_000 && (number < 200 || number > 299);
  return code === true || (typeof code === 'string' && !/^\s*(?:success|succeeded|ok|none|null)?\s*$/i.test(code));
}

/** Whether an answer is nothing but a code and a message: of DashScope, old vLLM, Zhipu, iFlytek and others. */
function isBareError(answer: JsonObject): boolean {
  const text = ['message', 'msg', 'error_msg', 'detail'].find((name) => typeof answer[name] === 'string');
  if (text === undefined) return false;
  const { choices } = answer;
  if (choices === undefined || choices === null) return true;
  return isErrorCode(answer['code']);
}
