// BullMQ's producer and worker for the bench: node bullmq.mjs URL ACTION COUNT (see producer.py for what the actions are).
import fs from "node:fs";
import { createRequire } from "node:module";

const { Queue, Worker } = createRequire(import.meta.url)("bullmq");
const [url, action, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const { hostname, port } = new URL(url);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const WARM = 20, CHUNK = 1000, EVERY = 50, PAD = "x".repeat(180);
const payload = (n) => ({ n, pad: PAD });
const clock = () => Number(process.hrtime.bigint()); // the monotonic clock, as Python's

async function singles(queue) {
    for (let n = 0; n < WARM; n++) await queue.add("noop", payload(n));
    const took = [], started = clock();
    for (let n = 0; n < count; n++) {
        const before = clock();
        await queue.add("noop", payload(n));
        took.push(clock() - before);
    }
    return { seconds: (clock() - started) / 1e9, took, expected: count + WARM };
}

async function many(queue, first, last) {
    const jobs = [];
    for (let n = first; n < last; n++) jobs.push({ name: "noop", data: payload(n) });
    await queue.addBulk(jobs);
}

async function fill(queue) {
    for (let first = 0; first < count; first += CHUNK) await many(queue, first, Math.min(first + CHUNK, count));
    return {};
}

async function bulk(queue) {
    await many(queue, 0, WARM);
    const started = clock();
    await fill(queue);
    return { seconds: (clock() - started) / 1e9, expected: count + WARM };
}

async function pickup(queue) {
    const began = [];
    for (let n = 1; n <= count; n++) {
        await new Promise((resolve) => setTimeout(resolve, EVERY));
        began.push(clock());
        await queue.add("noop", payload(n));
    }
    return { began };
}

async function wake(queue) {
    await queue.add("noop", payload(0));
    return {};
}

// As marks.py: when job n last started, and how often it did. Node has no shared memory between processes: a write to the file.
function work() {
    const file = fs.openSync(process.env.BENCH_MARKS, "r+"), words = new BigUint64Array(2), times = new Map();
    const mark = (n) => {
        times.set(n, (times.get(n) ?? 0) + 1);
        [words[0], words[1]] = [process.hrtime.bigint(), BigInt(times.get(n))];
        fs.writeSync(file, words, 0, 16, n * 16);
    };
    const worker = new Worker("bench", async (job) => mark(job.data.n), { connection, concurrency: 100 });
    process.on("SIGTERM", async () => {
        await worker.close();
        process.exit(0);
    });
}

if (action === "work") {
    work();
} else {
    const queue = new Queue("bench", { connection });
    const measured = await { singles, bulk, pickup, wake, fill }[action](queue);
    await queue.close();
    console.log(JSON.stringify(measured));
}
