import { createBlockStore, type Reservation } from './block-store.ts';
import type { Answer, CreateEngine, Prompt } from './engine.ts';
import type { PoolRequest } from './request.ts';

/**
 * An endpoint that works on so many requests at once, each as fast as if it were alone: many accelerators behind one address. The others
 * wait for the end of a prompt. Of the engine's speed it uses the memory, the tokens of prompts in a second and the time of a step.
 */
export const parallelEngine =
  (slots: number): CreateEngine =>
  (speed, blockTokens, listener) => {
    const store = createBlockStore(Math.floor(speed.memoryTokens / blockTokens));
    /** Prompts and answers under way, by the time at which the prompt is computed or the answer ends. */
    const prompts = new Map<Prompt, number>();
    const answers = new Map<Answer, number>();
    let waiting: PoolRequest[] = [];
    let slowness = 1;

    function admit(now: number): void {
      for (let [request] = waiting; request !== undefined && prompts.size < slots; [request] = waiting) {
        // The last token of a prompt is always computed.
        const cacheable = Math.min(request.promptBlocks, Math.floor((request.promptTokens - 1) / blockTokens));
        const held = Math.min(cacheable, store.held(request.blocks));
        const reservation = store.reserve(request.blocks, held);
        if (reservation === undefined) return;
        waiting.shift();
        const cached = held * blockTokens;
        const workMs = ((request.promptTokens - cached) / speed.prefillPerSecond) * 1000;
        prompts.set({ request, reservation, cached, done: cached }, now + (speed.stepMs + workMs) * slowness);
      }
    }

    function computed({ request, reservation, cached }: Prompt, now: number): void {
      reservation.computed(request.promptBlocks);
      listener.first(request, now, cached);
      const answerMs = (request.outputTokens - 1) * speed.stepMs * slowness;
      answers.set({ request, reservation, endStep: 0 }, now + answerMs);
    }

    function end({ request, reservation }: { request: PoolRequest; reservation: Reservation }, now: number): void {
      reservation.computed(request.blocks.length);
      reservation.release();
      listener.ended(request, now);
    }

    return {
      submit: (request, now) => {
        waiting.push(request);
        admit(now);
      },
      nextAt: () => Math.min(...prompts.values(), ...answers.values()),
      advance: (now) => {
        for (const [prompt, at] of prompts) if (at <= now && prompts.delete(prompt)) computed(prompt, now);
        for (const [answer, at] of answers) if (at <= now && answers.delete(answer)) end(answer, now);
        admit(now);
      },
      state: () => ({
        store,
        waiting,
        prompts: [...prompts.keys()],
        answers: [...answers.keys()],
        steps: 0,
        prefillTokens: [...prompts.keys()].reduce((sum, { request, done }) => sum + request.promptTokens - done, 0),
      }),
      stop: () => {
        const lost = [...prompts.keys(), ...answers.keys()];
        for (const { reservation } of lost) reservation.release();
        prompts.clear();
        answers.clear();
        const requests = lost.map(({ request }) => request).concat(waiting);
        waiting = [];
        return requests;
      },
      slowDown: (factor) => {
        slowness = factor;
      },
    };
  };
